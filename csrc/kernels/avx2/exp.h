#pragma once

#include "kernels/avx2/avx2.h"

namespace bactrian::avx2 {

/// exp(x), relative error below 1.5e-7 on [-87.33, 88.37]; 0 below (results that would be
/// subnormal included), infinity above, NaN for NaN; exp(0) = 1 exactly.
///
/// x = n ln 2 + r, |r| <= ln 2 / 2, with ln 2 in two parts (Cody & Waite 1980) and a polynomial for
/// e^r whose relative error alone is 4e-9 (Lawson's algorithm on Chebyshev points).
BACTRIAN_INLINE __m256 exp(__m256 x) {
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(0x1.715476p+0f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.62e4p-1f), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0x1.7f7d1cp-20f), r);

  __m256 p = _mm256_set1_ps(0x1.6a2434p-10f);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.1239e2p-7f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.5558f2p-5f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.555492p-3f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0x1.fffffcp-2f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));

  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  const __m256 low = _mm256_cmp_ps(x, _mm256_set1_ps(-87.33f), _CMP_LT_OQ);
  const __m256 high = _mm256_cmp_ps(x, _mm256_set1_ps(88.37f), _CMP_GT_OQ);
  const __m256 y = _mm256_andnot_ps(low, _mm256_mul_ps(p, power));
  return _mm256_blendv_ps(y, _mm256_set1_ps(__builtin_inff()), high);
}

}  // namespace bactrian::avx2
