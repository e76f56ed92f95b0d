#include "kernels/attention.h"

#include <algorithm>
#include <limits>

namespace bactrian {
namespace {

constexpr int64_t kAlign = 16;  // floats of a cache line

constexpr int64_t aligned(int64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }

/// Rows that differ in their last keys take the keys they share together, this many at a time.
constexpr int64_t kTileRows = 6;

}  // namespace

size_t AttentionRows::scratch_floats(int64_t n_rows, int64_t d_k, int64_t d_v) noexcept {
  return static_cast<size_t>(aligned(n_rows * d_k) + n_rows * kPageTokens +
                             n_rows * padded_values(d_v) + 2 * aligned(n_rows));
}

AttentionRows::AttentionRows(const Kernels& kernels, int64_t n_rows, int64_t d_k, int64_t d_v,
                             float scale, float* scratch) noexcept
    : kernels_(kernels),
      n_rows_(n_rows),
      d_k_(d_k),
      d_v_(d_v),
      d_v_padded_(padded_values(d_v)),
      scale_(scale),
      queries_(scratch),
      scores_(queries_ + aligned(n_rows * d_k)),
      values_(scores_ + n_rows * kPageTokens),
      max_(values_ + n_rows * d_v_padded_),
      sum_(max_ + aligned(n_rows)) {
  std::fill_n(values_, n_rows * d_v_padded_, 0.0f);
  std::fill_n(max_, n_rows, -std::numeric_limits<float>::infinity());
  std::fill_n(sum_, n_rows, 0.0f);
}

void AttentionRows::page(int64_t row_begin, const float* keys, const float* values,
                         const int32_t* n_keys) noexcept {
  // Scores past a row's last key are computed (the panels are 16 wide) and then ignored.
  kernels_.gemm({.a = queries_ + row_begin * d_k_,
                 .lda = d_k_,
                 .b = keys,
                 .ldb = kPageTokens,
                 .b_panel = kGroupRows,
                 .c = scores_ + row_begin * kPageTokens,
                 .ldc = kPageTokens,
                 .c_panel = kGroupRows,
                 .n_rows = n_rows_ - row_begin,
                 .n_panels = (n_keys[n_rows_ - 1] + kGroupRows - 1) / kGroupRows,
                 .k = d_k_,
                 .accumulate = false});
  for (int64_t r = row_begin; r < n_rows_; ++r) {
    const float before =
        kernels_.softmax_page(scores_ + r * kPageTokens, n_keys[r], scale_, max_ + r, sum_ + r);
    if (before != 1.0f) kernels_.scale(values_ + r * d_v_padded_, d_v_padded_, before);
  }
  add_values(row_begin, values, n_keys);
}

void AttentionRows::add_values(int64_t row_begin, const float* values,
                               const int32_t* n_keys) noexcept {
  const auto add = [&](int64_t r, int64_t n_rows, int64_t key, int64_t n) {
    kernels_.gemm({.a = scores_ + r * kPageTokens + key,
                   .lda = kPageTokens,
                   .b = values + key * d_v_padded_,
                   .ldb = d_v_padded_,
                   .b_panel = kGroupRows,
                   .c = values_ + r * d_v_padded_,
                   .ldc = d_v_padded_,
                   .c_panel = kGroupRows,
                   .n_rows = n_rows,
                   .n_panels = d_v_padded_ / kGroupRows,
                   .k = n,
                   .accumulate = true});
  };
  const bool all_alike = n_keys[row_begin] == n_keys[n_rows_ - 1];
  const int64_t step = all_alike ? n_rows_ - row_begin : kTileRows;
  for (int64_t r = row_begin; r < n_rows_; r += step) {
    const int64_t n_rows = std::min(step, n_rows_ - r);
    const int32_t shared = n_keys[r];
    add(r, n_rows, 0, shared);
    for (int64_t i = r; i < r + n_rows; ++i) {
      if (n_keys[i] > shared) add(i, 1, shared, n_keys[i] - shared);
    }
  }
}

void AttentionRows::result(int64_t r, float* out) const noexcept {
  for (int64_t i = 0; i < d_v_; ++i) out[i] = values_[r * d_v_padded_ + i] / sum_[r];
}

}  // namespace bactrian
