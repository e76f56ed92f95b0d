#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/kernels.h"

namespace bactrian {

/// A weight matrix [N, K] as linear() reads it; a view.
struct LinearWeight {
  DType dtype = DType::F32;
  int64_t n_rows = 0;                    // N
  int64_t n_cols = 0;                    // K
  const PackedLayout* layout = nullptr;  // nullptr: row-major blocks, as in the file
  const std::byte* data = nullptr;       // 32-byte aligned if packed

  int64_t n_groups() const { return (n_rows + kGroupRows - 1) / kGroupRows; }
};

/// out[t][n] = Σ_k x[t][k] · weight[n][k] (+ bias[n]) (+ out[t][n], if accumulate).
struct LinearArgs {
  LinearWeight weight;
  const float* x = nullptr;  // [T, K], rows ldx apart
  int64_t ldx = 0;
  int64_t n_tokens = 0;
  const float* bias = nullptr;  // [N] or nullptr
  float* out = nullptr;         // [T, N], rows ldo apart
  int64_t ldo = 0;
  bool accumulate = false;
};

/// Floats of 64-byte aligned scratch that linear_groups() needs.
size_t linear_scratch_floats() noexcept;

/// The outputs of rows [16 group_begin, 16 group_end) of the weight.
///
/// Regimes by T: few tokens expand in registers (PackedKernels::fused); more share a panel of
/// float32 that is expanded once per block of tokens. Both add in ascending k into one sum per
/// output, then bias, then what was in out: the same bits whatever T and the group range.
void linear_groups(const Kernels& kernels, const LinearArgs& args, int64_t group_begin,
                   int64_t group_end, float* scratch) noexcept;

}  // namespace bactrian
