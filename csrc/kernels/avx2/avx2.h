#pragma once

#include <immintrin.h>

#include "kernels/kernels.h"

// Shared by the AVX2 files, which alone are compiled with -mavx2 -mfma -mf16c. They use no inline
// function or template with external linkage (so nothing of the standard library): the linker
// keeps one copy of such code, and a copy built here would run on machines without AVX2.

#define BACTRIAN_INLINE static inline __attribute__((always_inline))

namespace bactrian::avx2 {

void gemm(const GemmArgs& args) noexcept;
void transpose(const float* rows, int64_t lds, int64_t n_k, float* panel, int64_t ldp) noexcept;

extern const PackedKernels kF32;
extern const PackedKernels kF16;
extern const PackedKernels kBF16;
extern const PackedKernels kQ4_0;
extern const PackedKernels kQ4_1;
extern const PackedKernels kQ5_0;
extern const PackedKernels kQ5_1;
extern const PackedKernels kQ8_0;
extern const PackedKernels kQ2_K;
extern const PackedKernels kQ3_K;
extern const PackedKernels kQ4_K;
extern const PackedKernels kQ5_K;
extern const PackedKernels kQ6_K;
extern const PackedKernels kIQ4_NL;
extern const PackedKernels kIQ4_XS;
extern const PackedKernels kMXFP4;

float softmax_page(float* s, int n_keys, float scale, float* m, float* sum) noexcept;
void scale(float* x, int64_t n, float factor) noexcept;
void rms_norm(const float* x, const float* gain, float eps, int64_t n, float* out) noexcept;
void silu_mul(const float* gate, const float* up, int64_t n, float* out) noexcept;
void rope_adjacent(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept;
void rope_halves(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept;
void half_to_float(const uint16_t* src, float* dst, int64_t n) noexcept;
void float_to_half(const float* src, uint16_t* dst, int64_t n) noexcept;
void scale_each(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept;
void scale_blocks(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept;

/// Lanes i < n set, 0 <= n; n >= 8 sets all.
BACTRIAN_INLINE __m256i lane_mask(int64_t n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < 8 ? n : 8)), lanes);
}

/// ((0+4)+(2+6)) + ((1+5)+(3+7)) of the lanes.
BACTRIAN_INLINE float reduce_add(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

}  // namespace bactrian::avx2
