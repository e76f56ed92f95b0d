#include "kernels/avx2/avx2.h"

// Between the types of the KV cache and float32.

namespace bactrian::avx2 {
namespace {

BACTRIAN_INLINE float half_to_float1(uint16_t h) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
}

BACTRIAN_INLINE __m256 bytes_to_float(const int8_t* q) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q))));
}

}  // namespace

void half_to_float(const uint16_t* src, float* dst, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i));
    _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(h));
  }
  for (; i < n; ++i) dst[i] = half_to_float1(src[i]);
}

void float_to_half(const float* src, uint16_t* dst, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + i), h);
  }
  for (; i < n; ++i) {
    const __m128i h = _mm_cvtps_ph(_mm_set_ss(src[i]), _MM_FROUND_TO_NEAREST_INT);
    dst[i] = static_cast<uint16_t>(_mm_extract_epi16(h, 0));
  }
}

void scale_each(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(d + i));
    _mm256_storeu_ps(dst + i, _mm256_mul_ps(_mm256_cvtph_ps(h), bytes_to_float(q + i)));
  }
  for (; i < n; ++i) dst[i] = half_to_float1(d[i]) * static_cast<float>(q[i]);
}

void scale_blocks(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept {
  for (int64_t b = 0; b < n / 32; ++b) {
    const __m256 scale = _mm256_set1_ps(half_to_float1(d[b]));
    for (int64_t i = b * 32; i < b * 32 + 32; i += 8) {
      _mm256_storeu_ps(dst + i, _mm256_mul_ps(scale, bytes_to_float(q + i)));
    }
  }
}

}  // namespace bactrian::avx2
