#include "backend/cpu/attention_op.h"

#include <algorithm>

#include "kernels/attention.h"

namespace bactrian {
namespace {

// Query rows that share a page once it is in float32: enough to pay for the conversion, few enough
// to leave every thread something to do.
constexpr int64_t kBlockRows = 96;

/// Consecutive tokens of one span. Token i (from 0) sees n_keys_first + i keys if causal, else all
/// see n_keys_first.
struct TokenBlock {
  const SequenceSpan* span;
  int64_t row_begin;  // of the step
  int64_t n_tokens;
  int64_t n_keys_first;
  int64_t n_keys_last;
};

/// Cuts spans into blocks, those with the most work first. key_begin(span) keys of a span come
/// before its first row.
template <typename KeysBefore>
std::vector<TokenBlock> token_blocks(const Step& step, bool causal, int64_t max_tokens,
                                     const KeysBefore& keys_before) {
  std::vector<TokenBlock> blocks;
  for (const SequenceSpan& span : step.spans) {
    const int64_t before = keys_before(span);
    for (int64_t i = 0; i < span.n_rows; i += max_tokens) {
      const int64_t n = std::min<int64_t>(max_tokens, span.n_rows - i);
      const int64_t first = before + (causal ? i + 1 : span.n_rows);
      blocks.push_back({&span, span.row_begin + i, n, first, causal ? first + n - 1 : first});
    }
  }
  const auto work = [](const TokenBlock& b) { return b.n_tokens * b.n_keys_last; };
  std::stable_sort(blocks.begin(), blocks.end(),
                   [&](const TokenBlock& a, const TokenBlock& b) { return work(a) > work(b); });
  return blocks;
}

struct Page {
  const float* keys;    // [D_k, 64]
  const float* values;  // [n_keys, padded_values(D_v)]
};

/// Runs every (block, key/value head). load(block, head, page, n_keys, keys, values) gives a page
/// of which n_keys keys are needed; keys and values are scratch for it.
template <typename Load>
void run_attention(Workers& workers, const Kernels& kernels, const AttentionShape& shape,
                   const std::vector<TokenBlock>& blocks, HostMatrix q, HostMatrix out,
                   const Load& load) {
  const int64_t n_group = shape.n_head / shape.n_head_kv;
  const int64_t d_k = shape.d_head_k;
  const int64_t d_v = shape.d_head_v;
  int64_t max_rows = 0;
  int64_t cost = 0;
  for (const TokenBlock& block : blocks) {
    max_rows = std::max(max_rows, block.n_tokens * n_group);
    cost += block.n_tokens * block.n_keys_last * shape.n_head * (d_k + d_v);
  }
  const auto key_floats = static_cast<size_t>(d_k * kPageTokens);
  const auto value_floats = static_cast<size_t>(padded_values(d_v) * kPageTokens);
  const size_t row_floats = AttentionRows::scratch_floats(max_rows, d_k, d_v);
  workers.reserve_scratch(key_floats + value_floats + row_floats + static_cast<size_t>(max_rows));

  const auto n_tasks = static_cast<int64_t>(blocks.size()) * shape.n_head_kv;
  workers.run(n_tasks, cost, [&](int64_t task, int worker) {
    const TokenBlock& block = blocks[static_cast<size_t>(task / shape.n_head_kv)];
    const auto head = static_cast<int>(task % shape.n_head_kv);
    float* const keys = workers.scratch(worker);
    float* const values = keys + key_floats;
    float* const row_scratch = values + value_floats;
    auto* const n_keys = reinterpret_cast<int32_t*>(row_scratch + row_floats);

    const int64_t n_rows = block.n_tokens * n_group;  // token-major, then head of the group
    AttentionRows rows(kernels, n_rows, d_k, d_v, shape.scale, row_scratch);
    for (int64_t r = 0; r < n_rows; ++r) {
      const float* query =
          q.row(block.row_begin + r / n_group) + (head * n_group + r % n_group) * d_k;
      std::copy_n(query, d_k, rows.query(r));
    }
    const int64_t more_per_token = block.n_keys_last > block.n_keys_first ? 1 : 0;
    for (int64_t begin = 0; begin < block.n_keys_last; begin += kPageTokens) {
      int64_t first = n_rows;  // row that sees this page
      for (int64_t r = n_rows; r-- > 0;) {
        const int64_t seen = block.n_keys_first + r / n_group * more_per_token - begin;
        if (seen <= 0) break;
        n_keys[r] = static_cast<int32_t>(std::min<int64_t>(seen, kPageTokens));
        first = r;
      }
      const Page page = load(block, head, begin / kPageTokens, n_keys[n_rows - 1], keys, values);
      rows.page(first, page.keys, page.values, n_keys);
    }
    for (int64_t r = 0; r < n_rows; ++r) {
      rows.result(r, out.row(block.row_begin + r / n_group) + (head * n_group + r % n_group) * d_v);
    }
  });
}

int64_t block_tokens(const AttentionShape& shape) {
  return std::max<int64_t>(1, kBlockRows * shape.n_head_kv / shape.n_head);
}

}  // namespace

void attention_cached(Workers& workers, const Kernels& kernels, const AttentionShape& shape,
                      const CpuKvStore& store, int layer, const Step& step, HostMatrix q,
                      HostMatrix out) {
  const auto blocks = token_blocks(step, shape.causal, block_tokens(shape),
                                   [](const SequenceSpan& s) { return s.position_begin; });
  run_attention(workers, kernels, shape, blocks, q, out,
                [&](const TokenBlock& block, int head, int64_t page, int64_t n_keys, float* keys,
                    float* values) -> Page {
                  const auto entry = static_cast<size_t>(block.span->page_begin + page);
                  const int64_t number = step.page_table[entry];
                  return {store.key_page(kernels, layer, number, head, keys),
                          store.value_page(kernels, layer, number, head, n_keys, values)};
                });
}

void attention_packed(Workers& workers, const Kernels& kernels, const AttentionShape& shape,
                      const Step& step, HostMatrix q, HostMatrix k, HostMatrix v, HostMatrix out) {
  const int64_t d_k = shape.d_head_k;
  const int64_t d_v = shape.d_head_v;
  const int64_t padded = padded_values(d_v);
  const auto blocks =
      token_blocks(step, shape.causal, block_tokens(shape), [](const SequenceSpan&) { return 0; });
  run_attention(workers, kernels, shape, blocks, q, out,
                [&](const TokenBlock& block, int head, int64_t page, int64_t n_keys, float* keys,
                    float* values) -> Page {
                  const int64_t row = block.span->row_begin + page * kPageTokens;
                  const float* k_rows = k.row(row) + head * d_k;
                  for (int64_t i = 0; i < kPageTokens; i += kGroupRows) {
                    const int64_t n = std::clamp<int64_t>(n_keys - i, 0, kGroupRows);
                    if (n == kGroupRows) {
                      kernels.transpose(k_rows + i * k.stride, k.stride, d_k, keys + i,
                                        kPageTokens);
                      continue;
                    }
                    for (int64_t d = 0; d < d_k; ++d) {
                      float* const to = keys + d * kPageTokens + i;
                      for (int64_t j = 0; j < n; ++j) to[j] = k_rows[(i + j) * k.stride + d];
                      std::fill(to + n, to + kGroupRows, 0.0f);
                    }
                  }
                  for (int64_t i = 0; i < n_keys; ++i) {
                    float* const to = values + i * padded;
                    std::copy_n(v.row(row + i) + head * d_v, d_v, to);
                    std::fill(to + d_v, to + padded, 0.0f);
                  }
                  return {keys, values};
                });
}

}  // namespace bactrian
