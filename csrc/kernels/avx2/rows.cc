#include "kernels/avx2/avx2.h"
#include "kernels/avx2/exp.h"

// Ops on one row at a time: softmax, norm, activation, rotation.

namespace bactrian::avx2 {

float softmax_page(float* s, int n_keys, float scale, float* m, float* sum) noexcept {
  const int n_vectors = (n_keys + 7) / 8;
  const __m256 lowest = _mm256_set1_ps(-__builtin_inff());
  const __m256 factor = _mm256_set1_ps(scale);
  __m256 max = lowest;
  for (int i = 0; i < n_vectors; ++i) {
    const __m256 live = _mm256_castsi256_ps(lane_mask(n_keys - 8 * i));
    const __m256 t = _mm256_mul_ps(_mm256_loadu_ps(s + 8 * i), factor);
    max = _mm256_max_ps(max, _mm256_blendv_ps(lowest, t, live));
  }
  __m128 narrow = _mm_max_ps(_mm256_castps256_ps128(max), _mm256_extractf128_ps(max, 1));
  narrow = _mm_max_ps(narrow, _mm_movehl_ps(narrow, narrow));
  const float page_max = _mm_cvtss_f32(_mm_max_ss(narrow, _mm_movehdup_ps(narrow)));
  const float new_max = page_max > *m ? page_max : *m;

  // Dead lanes add exactly nothing, so that the row's sum is what it would be without those keys.
  const __m256 shift = _mm256_set1_ps(new_max);
  __m256 total = _mm256_setzero_ps();
  for (int i = 0; i < n_vectors; ++i) {
    const __m256 live = _mm256_castsi256_ps(lane_mask(n_keys - 8 * i));
    const __m256 t = _mm256_mul_ps(_mm256_loadu_ps(s + 8 * i), factor);
    const __m256 p = _mm256_and_ps(live, exp(_mm256_sub_ps(t, shift)));
    _mm256_storeu_ps(s + 8 * i, p);
    total = _mm256_add_ps(total, p);
  }
  const float alpha = _mm256_cvtss_f32(exp(_mm256_set1_ps(*m - new_max)));
  *sum = *sum * alpha + reduce_add(total);
  *m = new_max;
  return alpha;
}

void scale(float* x, int64_t n, float factor) noexcept {
  const __m256 f = _mm256_set1_ps(factor);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), f));
  for (; i < n; ++i) x[i] *= factor;
}

void rms_norm(const float* x, const float* gain, float eps, int64_t n, float* out) noexcept {
  // Four sums of squares by position modulo 32, the rest into the first.
  __m256 sum[4] = {};
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m256 v = _mm256_loadu_ps(x + i + 8 * j);
      sum[j] = _mm256_fmadd_ps(v, v, sum[j]);
    }
  }
  for (; i < n; i += 8) {
    const __m256 v = _mm256_maskload_ps(x + i, lane_mask(n - i));
    sum[0] = _mm256_fmadd_ps(v, v, sum[0]);
  }
  const float squares =
      reduce_add(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
  const float mean = squares / static_cast<float>(n) + eps;
  const float factor = 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean)));
  const __m256 f = _mm256_set1_ps(factor);
  for (i = 0; i < n; i += 8) {
    const __m256i live = lane_mask(n - i);
    const __m256 v = _mm256_mul_ps(_mm256_maskload_ps(x + i, live), f);
    _mm256_maskstore_ps(out + i, live, _mm256_mul_ps(v, _mm256_maskload_ps(gain + i, live)));
  }
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) noexcept {
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 sign = _mm256_set1_ps(-0.0f);
  const auto eight = [&](__m256 g, __m256 u) __attribute__((always_inline)) {
    const __m256 silu = _mm256_div_ps(g, _mm256_add_ps(one, exp(_mm256_xor_ps(g, sign))));
    return _mm256_mul_ps(silu, u);
  };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(out + i, eight(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));
  }
  if (i < n) {
    const __m256i live = lane_mask(n - i);
    const __m256 y = eight(_mm256_maskload_ps(gate + i, live), _mm256_maskload_ps(up + i, live));
    _mm256_maskstore_ps(out + i, live, y);
  }
}

void rope_adjacent(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  int64_t i = 0;
  for (; i + 4 <= n_pairs; i += 4) {
    const __m256 v = _mm256_loadu_ps(x + 2 * i);
    const __m256 c = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cos + i)), twice);
    const __m256 s = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sin + i)), twice);
    const __m256 swapped = _mm256_permute_ps(v, 0xb1);
    // Even lanes x0 c - x1 s, odd lanes x1 c + x0 s.
    _mm256_storeu_ps(x + 2 * i, _mm256_addsub_ps(_mm256_mul_ps(v, c), _mm256_mul_ps(swapped, s)));
  }
  for (; i < n_pairs; ++i) {
    const float x0 = x[2 * i];
    const float x1 = x[2 * i + 1];
    x[2 * i] = x0 * cos[i] - x1 * sin[i];
    x[2 * i + 1] = x1 * cos[i] + x0 * sin[i];
  }
}

void rope_halves(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  float* y = x + n_pairs;
  int64_t i = 0;
  for (; i + 8 <= n_pairs; i += 8) {
    const __m256 x0 = _mm256_loadu_ps(x + i);
    const __m256 x1 = _mm256_loadu_ps(y + i);
    const __m256 c = _mm256_loadu_ps(cos + i);
    const __m256 s = _mm256_loadu_ps(sin + i);
    _mm256_storeu_ps(x + i, _mm256_sub_ps(_mm256_mul_ps(x0, c), _mm256_mul_ps(x1, s)));
    _mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_mul_ps(x1, c), _mm256_mul_ps(x0, s)));
  }
  for (; i < n_pairs; ++i) {
    const float x0 = x[i];
    const float x1 = y[i];
    x[i] = x0 * cos[i] - x1 * sin[i];
    y[i] = x1 * cos[i] + x0 * sin[i];
  }
}

}  // namespace bactrian::avx2
