#include "runtime/plan.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/pooling.h"

namespace bactrian {
namespace {

/// Appends tokens as one span whose first row stands at `position`.
void append_span(Ubatch& ubatch, std::span<const int32_t> tokens, int32_t position) {
  Step& step = ubatch.step;
  step.spans.push_back({.row_begin = static_cast<int32_t>(step.tokens.size()),
                        .n_rows = static_cast<int32_t>(tokens.size()),
                        .position_begin = position});
  step.tokens.insert(step.tokens.end(), tokens.begin(), tokens.end());
  for (size_t i = 0; i < tokens.size(); ++i) {
    step.positions.push_back(position + static_cast<int32_t>(i));
  }
}

int64_t n_rows(const Ubatch& ubatch) { return static_cast<int64_t>(ubatch.step.tokens.size()); }

}  // namespace

std::vector<Ubatch> plan_tokens(const Batch& batch, int64_t n_ubatch,
                                const std::function<int32_t(int32_t sequence)>& length) {
  std::vector<Ubatch> ubatches;
  std::unordered_map<int32_t, int32_t> positions;  // next of each sequence
  for (const Batch::Run& run : batch.runs()) {
    auto [next, is_new] = positions.try_emplace(run.sequence, 0);
    if (is_new) next->second = length(run.sequence);
    for (int64_t done = 0; done < run.n_tokens;) {
      if (ubatches.empty() || n_rows(ubatches.back()) == n_ubatch) ubatches.emplace_back();
      Ubatch& ubatch = ubatches.back();
      const int64_t row_begin = n_rows(ubatch);
      const int64_t count = std::min(run.n_tokens - done, n_ubatch - row_begin);
      append_span(
          ubatch,
          batch.tokens_of(run).subspan(static_cast<size_t>(done), static_cast<size_t>(count)),
          next->second);
      ubatch.sequences.push_back(run.sequence);
      for (int64_t i = 0; i < count; ++i) {
        const bool is_last = done + i + 1 == run.n_tokens;
        if (run.logits == LogitsRows::all || (run.logits == LogitsRows::last && is_last)) {
          ubatch.wanted_rows.push_back(static_cast<int32_t>(row_begin + i));
        }
      }
      next->second += static_cast<int32_t>(count);
      done += count;
    }
  }
  return ubatches;
}

std::vector<Ubatch> plan_inputs(const Batch& batch, int64_t n_ubatch) {
  std::vector<Ubatch> ubatches;
  for (const Batch::Run& run : batch.runs()) {
    if (ubatches.empty() || n_rows(ubatches.back()) + run.n_tokens > n_ubatch) {
      ubatches.emplace_back();
    }
    append_span(ubatches.back(), batch.tokens_of(run), 0);
  }
  for (Ubatch& ubatch : ubatches) {
    ubatch.wanted_rows = pooled_rows(batch.pooling(), ubatch.step.spans);
  }
  return ubatches;
}

}  // namespace bactrian
