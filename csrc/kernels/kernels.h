#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed.h"

namespace bactrian {

// The ops that are written once per instruction set: a table of functions for each, all
// re-entrant, none allocates. Pointers need the alignment of their element only, unless an op says
// more. Arguments named out or c never overlap inputs, unless said so.
//
// Order of sums: every number an op computes depends on its own row of inputs alone, and is summed
// in an order that the row's length fixes. gemm and fused: one chain of fused multiply-adds per
// output in ascending k (avx2), multiply and add (ref), begun at zero or at the value in c. Cutting
// k, rows or columns into several calls therefore never changes a bit.

/// gemm: c[m][16 p + j] (+)= Σ_k a[m][k] · b_p[k][j]  for 0 <= m < M, 0 <= p < P, 0 <= j < 16.
struct GemmArgs {
  const float* a;  // [M, K], rows lda apart
  int64_t lda;
  const float* b;  // P panels [K, 16], rows ldb apart, panels b_panel apart
  int64_t ldb;
  int64_t b_panel;
  float* c;  // P panels [M, 16], rows ldc apart, panels c_panel apart
  int64_t ldc;
  int64_t c_panel;
  int64_t n_rows;    // M >= 1
  int64_t n_panels;  // P >= 1
  int64_t k;         // K >= 0
  bool accumulate;   // false: c is only written
};

/// Kernels of one packed kind.
struct PackedKernels {
  /// panel[k][r] = value of row r at k_begin + k, 0 <= k < n_k; panel is 32-byte aligned. k_begin
  /// is a multiple of 32 for quantised kinds, n_k too. The bits of Format::dequantize for finite
  /// scales, but for the sign of zero.
  void (*expand)(const std::byte* group, int64_t k_begin, int64_t n_k, float* panel) noexcept;

  /// Expansion and product in registers, for few tokens:
  /// c[g][t][r] = Σ_k value of row r of group g at k · x[t][k], in gemm's order.
  /// groups: n_groups groups, group_bytes apart. x [n_tokens, n_cols], rows ldx apart;
  /// 1 <= n_tokens <= max_fused_tokens. c is dense [n_groups, n_tokens, 16].
  void (*fused)(const std::byte* groups, size_t group_bytes, int64_t n_groups, int64_t n_cols,
                const float* x, int64_t ldx, int n_tokens, float* c) noexcept;
  int max_fused_tokens;  // 0: fused is null
};

struct Kernels {
  const char* isa;

  void (*gemm)(const GemmArgs& args) noexcept;

  /// panel[k][r] = rows[r][k] for 16 rows lds apart, 0 <= k < n_k; panel rows ldp apart.
  void (*transpose)(const float* rows, int64_t lds, int64_t n_k, float* panel,
                    int64_t ldp) noexcept;

  const PackedKernels* const* packed;  // [kPackedKinds], by PackedKind

  /// One page of an online softmax for one row (Milakov & Gimelshein 2018). s holds 64 raw scores,
  /// of which the first n_keys (1..64) count. With m' = max(m, scale · max s):
  /// s[i] = exp(scale · s[i] - m'); sum = sum · exp(m - m') + Σ s[i]; m = m'.
  /// Returns exp(m - m'), the factor for what was accumulated before.
  /// Scores from n_keys on do not count; what becomes of them is undefined.
  float (*softmax_page)(float* s, int n_keys, float scale, float* m, float* sum) noexcept;

  /// x[i] *= factor.
  void (*scale)(float* x, int64_t n, float factor) noexcept;

  /// out[i] = x[i] / sqrt(mean(x²) + eps) · gain[i]. out may be x.
  void (*rms_norm)(const float* x, const float* gain, float eps, int64_t n, float* out) noexcept;

  /// out[i] = gate[i] / (1 + exp(-gate[i])) · up[i]. out may be gate or up.
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out) noexcept;

  /// Rotates pairs (2i, 2i+1) of x [2 n_pairs] in place by the angles with these cosines and sines.
  void (*rope_adjacent)(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept;
  /// The same for pairs (i, i + n_pairs).
  void (*rope_halves)(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept;

  /// dst[i] = src[i] as binary32; exact.
  void (*half_to_float)(const uint16_t* src, float* dst, int64_t n) noexcept;
  /// dst[i] = src[i] as binary16, to nearest even.
  void (*float_to_half)(const float* src, uint16_t* dst, int64_t n) noexcept;

  /// dst[i] = d[i] · q[i] for n elements that each have a scale (half).
  void (*scale_each)(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept;
  /// dst[i] = d[i / 32] · q[i]; n is a multiple of 32.
  void (*scale_blocks)(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept;
};

}  // namespace bactrian
