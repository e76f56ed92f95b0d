#pragma once

#include "kernels/avx2/avx2.h"

// The two loops every packed kind shares, over a Decoder that turns its units into vectors. Each
// kind's file instantiates them with internal linkage.
//
// A Decoder has
//   static constexpr int kStep       k decoded at a time (8, or 1 for kinds whose rows may be odd)
//   Decoder(group)
//   void unit(k, half)               called for every 32 k: scales of rows 8 half .. 8 half + 7
//   void step(k, half)               loads the quants of k .. k + kStep
//   template <int i> __m256 value()  of k + i

namespace bactrian::avx2 {
namespace {

inline constexpr int kUnit = 32;
// The hardware's own prefetch loses several streams at once; asking this far ahead in each group
// gave 10 to 25 % on weights that come from memory.
inline constexpr int64_t kPrefetchBytes = 1024;

template <typename Decoder, int kFirst, typename Use>
BACTRIAN_INLINE void each_value(Decoder& decoder, const Use& use) {
  if constexpr (kFirst < Decoder::kStep) {
    use(kFirst, decoder.template value<kFirst>());
    each_value<Decoder, kFirst + 1>(decoder, use);
  }
}

template <typename Decoder>
void expand(const std::byte* group, int64_t k_begin, int64_t n_k, float* panel) noexcept {
  for (int64_t u = 0; u < n_k; u += kUnit) {
    const int64_t end = u + kUnit < n_k ? u + kUnit : n_k;
#pragma GCC unroll 1
    for (int half = 0; half < 2; ++half) {
      Decoder decoder(group);
      decoder.unit(k_begin + u, half);
      for (int64_t k = u; k < end; k += Decoder::kStep) {
        decoder.step(k_begin + k, half);
        float* at = panel + k * kGroupRows + half * 8;
        each_value<Decoder, 0>(decoder, [&](int i, __m256 value) __attribute__((always_inline)) {
          _mm256_store_ps(at + i * kGroupRows, value);
        });
      }
    }
  }
}

/// kG groups by kT tokens. The chains of different groups are independent; the processor overlaps
/// them, since one step of a group is short against its window.
template <typename Decoder, int kT, int kG>
void fused_tile(const std::byte* groups, size_t group_bytes, int64_t n_cols, const float* x,
                int64_t ldx, float* c) {
  __m256 sum[kG][kT][2];
#pragma GCC unroll 4
  for (int g = 0; g < kG; ++g) {
#pragma GCC unroll 4
    for (int t = 0; t < kT; ++t) sum[g][t][0] = sum[g][t][1] = _mm256_setzero_ps();
  }
  // Of kUnit k. Running past the end prefetches another group's beginning, or nothing.
  const auto unit_bytes = static_cast<int64_t>(group_bytes) * kUnit / n_cols;
  const std::byte* ahead = groups + kPrefetchBytes;
  for (int64_t u = 0; u < n_cols; u += kUnit) {
    const int64_t end = u + kUnit < n_cols ? u + kUnit : n_cols;
    for (int g = 0; g < kG; ++g) {
      const std::byte* at = ahead + static_cast<size_t>(g) * group_bytes;
      for (int64_t i = 0; i < unit_bytes; i += 64) _mm_prefetch(at + i, _MM_HINT_T0);
    }
    ahead += unit_bytes;
    Decoder decoder[kG][2] = {};
#pragma GCC unroll 4
    for (int g = 0; g < kG; ++g) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        decoder[g][half] = Decoder(groups + static_cast<size_t>(g) * group_bytes);
        decoder[g][half].unit(u, half);
      }
    }
    for (int64_t k = u; k < end; k += Decoder::kStep) {
#pragma GCC unroll 4
      for (int g = 0; g < kG; ++g) {
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
          decoder[g][half].step(k, half);
          each_value<Decoder, 0>(decoder[g][half],
                                 [&](int i, __m256 value) __attribute__((always_inline)) {
#pragma GCC unroll 4
                                   for (int t = 0; t < kT; ++t) {
                                     const __m256 xt = _mm256_broadcast_ss(x + t * ldx + k + i);
                                     sum[g][t][half] = _mm256_fmadd_ps(xt, value, sum[g][t][half]);
                                   }
                                 });
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < kG; ++g) {
#pragma GCC unroll 4
    for (int t = 0; t < kT; ++t) {
      _mm256_storeu_ps(c + (g * kT + t) * kGroupRows, sum[g][t][0]);
      _mm256_storeu_ps(c + (g * kT + t) * kGroupRows + 8, sum[g][t][1]);
    }
  }
}

template <typename Decoder, int kT, int kG>
void fused_tokens(const std::byte* groups, size_t group_bytes, int64_t n_groups, int64_t n_cols,
                  const float* x, int64_t ldx, float* c) {
  int64_t g = 0;
  for (; g + kG <= n_groups; g += kG) {
    fused_tile<Decoder, kT, kG>(groups + static_cast<size_t>(g) * group_bytes, group_bytes, n_cols,
                                x, ldx, c + g * kT * kGroupRows);
  }
  if constexpr (kG > 1) {
    fused_tokens<Decoder, kT, 1>(groups + static_cast<size_t>(g) * group_bytes, group_bytes,
                                 n_groups - g, n_cols, x, ldx, c + g * kT * kGroupRows);
  }
}

template <typename Decoder>
void fused(const std::byte* groups, size_t group_bytes, int64_t n_groups, int64_t n_cols,
           const float* x, int64_t ldx, int n_tokens, float* c) noexcept {
  switch (n_tokens) {
    case 1:
      return fused_tokens<Decoder, 1, 4>(groups, group_bytes, n_groups, n_cols, x, ldx, c);
    case 2:
      return fused_tokens<Decoder, 2, 2>(groups, group_bytes, n_groups, n_cols, x, ldx, c);
    case 3:
      return fused_tokens<Decoder, 3, 2>(groups, group_bytes, n_groups, n_cols, x, ldx, c);
    default:
      return fused_tokens<Decoder, 4, 1>(groups, group_bytes, n_groups, n_cols, x, ldx, c);
  }
}

inline constexpr int kMaxFusedTokens = 4;

template <typename Decoder>
constexpr PackedKernels packed_kernels() {
  return {expand<Decoder>, fused<Decoder>, kMaxFusedTokens};
}

}  // namespace
}  // namespace bactrian::avx2
