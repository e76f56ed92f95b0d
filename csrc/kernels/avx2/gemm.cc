#include "kernels/avx2/avx2.h"

namespace bactrian::avx2 {
namespace {

/// kM rows by kP panels of 16 columns in registers: 2 kM kP <= 12 sums, and at least 8 where the
/// rows allow it, since a fused multiply-add takes 4 cycles and two start in each.
template <int kM, int kP>
void tile(const float* a, int64_t lda, const float* b, int64_t ldb, int64_t b_panel, float* c,
          int64_t ldc, int64_t c_panel, int64_t n_k, bool accumulate) {
  __m256 sum[kM][kP][2];
#pragma GCC unroll 6
  for (int m = 0; m < kM; ++m) {
#pragma GCC unroll 4
    for (int p = 0; p < kP; ++p) {
      const float* at = c + m * ldc + p * c_panel;
      sum[m][p][0] = accumulate ? _mm256_loadu_ps(at) : _mm256_setzero_ps();
      sum[m][p][1] = accumulate ? _mm256_loadu_ps(at + 8) : _mm256_setzero_ps();
    }
  }
  for (int64_t k = 0; k < n_k; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < kP; ++p) {
      const __m256 b0 = _mm256_loadu_ps(b + p * b_panel);
      const __m256 b1 = _mm256_loadu_ps(b + p * b_panel + 8);
#pragma GCC unroll 6
      for (int m = 0; m < kM; ++m) {
        const __m256 x = _mm256_broadcast_ss(a + m * lda);
        sum[m][p][0] = _mm256_fmadd_ps(x, b0, sum[m][p][0]);
        sum[m][p][1] = _mm256_fmadd_ps(x, b1, sum[m][p][1]);
      }
    }
    b += ldb;
    a += 1;
  }
#pragma GCC unroll 6
  for (int m = 0; m < kM; ++m) {
#pragma GCC unroll 4
    for (int p = 0; p < kP; ++p) {
      float* at = c + m * ldc + p * c_panel;
      _mm256_storeu_ps(at, sum[m][p][0]);
      _mm256_storeu_ps(at + 8, sum[m][p][1]);
    }
  }
}

/// Rows [m, m + kM) of all panels, kP at a time.
template <int kM, int kP>
void rows(const GemmArgs& g, int64_t m, int64_t p_begin, int64_t p_end) {
  const float* a = g.a + m * g.lda;
  float* c = g.c + m * g.ldc;
  int64_t p = p_begin;
  for (; p + kP <= p_end; p += kP) {
    tile<kM, kP>(a, g.lda, g.b + p * g.b_panel, g.ldb, g.b_panel, c + p * g.c_panel, g.ldc,
                 g.c_panel, g.k, g.accumulate);
  }
  if constexpr (kP > 1) rows<kM, 1>(g, m, p, p_end);
}

}  // namespace

void gemm(const GemmArgs& g) noexcept {
  constexpr int64_t kRows = 6;
  const int64_t n_whole = g.n_rows / kRows * kRows;
  for (int64_t p = 0; p < g.n_panels && n_whole > 0; ++p) {  // a panel stays in L1 meanwhile
    for (int64_t m = 0; m < n_whole; m += kRows) rows<kRows, 1>(g, m, p, p + 1);
  }
  // Few rows need several panels at once to have enough sums.
  switch (g.n_rows - n_whole) {
    case 1:
      return rows<1, 4>(g, n_whole, 0, g.n_panels);
    case 2:
      return rows<2, 2>(g, n_whole, 0, g.n_panels);
    case 3:
      return rows<3, 2>(g, n_whole, 0, g.n_panels);
    case 4:
      return rows<4, 1>(g, n_whole, 0, g.n_panels);
    case 5:
      return rows<5, 1>(g, n_whole, 0, g.n_panels);
    default:
      return;
  }
}

namespace {

/// Rows of 8 x 8 floats at src, lds apart, as columns at dst.
BACTRIAN_INLINE void transpose8(const float* src, int64_t lds, float* dst, int64_t ldp) {
  __m256 r[8];
  // Pair row i with row i + 4 in the two halves, so that the rest stays within 128-bit lanes.
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const float* low = src + i * lds;
    const float* high = src + (i + 4) * lds;
    r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
    r[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low + 4)),
                                    _mm_loadu_ps(high + 4), 1);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    const __m256 ab_low = _mm256_unpacklo_ps(r[i], r[i + 1]);
    const __m256 ab_high = _mm256_unpackhi_ps(r[i], r[i + 1]);
    const __m256 cd_low = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
    const __m256 cd_high = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
    _mm256_storeu_ps(dst + (i + 0) * ldp, _mm256_shuffle_ps(ab_low, cd_low, 0x44));
    _mm256_storeu_ps(dst + (i + 1) * ldp, _mm256_shuffle_ps(ab_low, cd_low, 0xee));
    _mm256_storeu_ps(dst + (i + 2) * ldp, _mm256_shuffle_ps(ab_high, cd_high, 0x44));
    _mm256_storeu_ps(dst + (i + 3) * ldp, _mm256_shuffle_ps(ab_high, cd_high, 0xee));
  }
}

}  // namespace

void transpose(const float* rows, int64_t lds, int64_t n_k, float* panel, int64_t ldp) noexcept {
  int64_t k = 0;
  for (; k + 8 <= n_k; k += 8) {
    transpose8(rows + k, lds, panel + k * ldp, ldp);
    transpose8(rows + 8 * lds + k, lds, panel + k * ldp + 8, ldp);
  }
  for (; k < n_k; ++k) {
    for (int r = 0; r < kGroupRows; ++r) panel[k * ldp + r] = rows[r * lds + k];
  }
}

}  // namespace bactrian::avx2
