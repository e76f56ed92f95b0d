#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "kernels/ref/ref.h"
#include "kernels/tables.h"

namespace bactrian {
namespace {

void gemm(const GemmArgs& g) noexcept {
  for (int64_t p = 0; p < g.n_panels; ++p) {
    for (int64_t m = 0; m < g.n_rows; ++m) {
      float* c = g.c + p * g.c_panel + m * g.ldc;
      float sum[kGroupRows] = {};
      if (g.accumulate) std::copy_n(c, kGroupRows, sum);
      for (int64_t k = 0; k < g.k; ++k) {
        const float a = g.a[m * g.lda + k];
        const float* b = g.b + p * g.b_panel + k * g.ldb;
        for (int j = 0; j < kGroupRows; ++j) sum[j] += a * b[j];
      }
      std::copy_n(sum, kGroupRows, c);
    }
  }
}

void transpose(const float* rows, int64_t lds, int64_t n_k, float* panel, int64_t ldp) noexcept {
  for (int64_t k = 0; k < n_k; ++k) {
    for (int r = 0; r < kGroupRows; ++r) panel[k * ldp + r] = rows[r * lds + k];
  }
}

float softmax_page(float* s, int n_keys, float scale, float* m, float* sum) noexcept {
  float max = *m;
  for (int i = 0; i < n_keys; ++i) {
    s[i] *= scale;
    max = std::max(max, s[i]);  // a NaN is not larger, but spoils the sum below
  }
  float total = 0.0f;
  for (int i = 0; i < n_keys; ++i) {
    s[i] = std::exp(s[i] - max);
    total += s[i];
  }
  const float alpha = std::exp(*m - max);
  *sum = *sum * alpha + total;
  *m = max;
  return alpha;
}

void scale(float* x, int64_t n, float factor) noexcept {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void rms_norm(const float* x, const float* gain, float eps, int64_t n, float* out) noexcept {
  double squares = 0.0;
  for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double mean = squares / static_cast<double>(n);
  const auto factor = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * factor * gain[i];
}

void silu_mul(const float* gate, const float* up, int64_t n, float* out) noexcept {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

/// Pairs (x[step i], x[step i + gap]).
void rotate(float* x, int64_t step, int64_t gap, const float* cos, const float* sin,
            int64_t n_pairs) {
  for (int64_t i = 0; i < n_pairs; ++i) {
    const float x0 = x[step * i];
    const float x1 = x[step * i + gap];
    x[step * i] = x0 * cos[i] - x1 * sin[i];
    x[step * i + gap] = x1 * cos[i] + x0 * sin[i];
  }
}

void rope_adjacent(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  rotate(x, 2, 1, cos, sin, n_pairs);
}

void rope_halves(float* x, const float* cos, const float* sin, int64_t n_pairs) noexcept {
  rotate(x, 1, n_pairs, cos, sin, n_pairs);
}

void halves_to_floats(const uint16_t* src, float* dst, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) dst[i] = half_to_float(src[i]);
}

void floats_to_halves(const float* src, uint16_t* dst, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) dst[i] = float_to_half(src[i]);
}

void scale_each(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) dst[i] = half_to_float(d[i]) * static_cast<float>(q[i]);
}

void scale_blocks(const int8_t* q, const uint16_t* d, float* dst, int64_t n) noexcept {
  for (int64_t i = 0; i < n; ++i) dst[i] = half_to_float(d[i / 32]) * static_cast<float>(q[i]);
}

}  // namespace

constinit const Kernels kRefKernels = {
    .isa = "ref",
    .gemm = gemm,
    .transpose = transpose,
    .packed = ref::kPacked,
    .softmax_page = softmax_page,
    .scale = scale,
    .rms_norm = rms_norm,
    .silu_mul = silu_mul,
    .rope_adjacent = rope_adjacent,
    .rope_halves = rope_halves,
    .half_to_float = halves_to_floats,
    .float_to_half = floats_to_halves,
    .scale_each = scale_each,
    .scale_blocks = scale_blocks,
};

}  // namespace bactrian
