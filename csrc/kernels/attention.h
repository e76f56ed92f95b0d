#pragma once

#include <cstddef>
#include <cstdint>

#include "base/kv_page.h"
#include "kernels/kernels.h"

namespace bactrian {

/// Columns of a page of values in float32: the head size, padded to whole panels.
constexpr int64_t padded_values(int64_t d_v) {
  return (d_v + kGroupRows - 1) / kGroupRows * kGroupRows;
}

/// Softmax attention of some query rows to the keys of one key/value head, fed one page of
/// kPageTokens keys after the other (online softmax: Milakov & Gimelshein 2018, Dao et al. 2022).
///
/// A row's result depends on its own query, on its keys and on where the pages begin, on nothing
/// else. Keys that it may not see are not even multiplied by zero: a NaN among them stays away.
class AttentionRows {
 public:
  /// Floats of 64-byte aligned scratch for n_rows rows.
  static size_t scratch_floats(int64_t n_rows, int64_t d_k, int64_t d_v) noexcept;

  AttentionRows(const Kernels& kernels, int64_t n_rows, int64_t d_k, int64_t d_v, float scale,
                float* scratch) noexcept;

  /// Where the caller puts the query of row r: [D_k].
  float* query(int64_t r) noexcept { return queries_ + r * d_k_; }

  /// Lets rows [row_begin, n_rows) see a page. keys [D_k, 64] transposed, values
  /// [64, padded_values(D_v)]. Row r sees the first n_keys[r] keys (1 to 64), never fewer than the
  /// row before it.
  void page(int64_t row_begin, const float* keys, const float* values,
            const int32_t* n_keys) noexcept;

  /// out[0, D_v) = the weighted mean of the values that row r has seen.
  void result(int64_t r, float* out) const noexcept;

 private:
  void add_values(int64_t row_begin, const float* values, const int32_t* n_keys) noexcept;

  const Kernels& kernels_;
  int64_t n_rows_, d_k_, d_v_, d_v_padded_;
  float scale_;
  float* queries_;  // [n_rows, D_k]
  float* scores_;   // [n_rows, 64]
  float* values_;   // [n_rows, d_v_padded], weighted sums
  float* max_;      // [n_rows]
  float* sum_;      // [n_rows]
};

}  // namespace bactrian
