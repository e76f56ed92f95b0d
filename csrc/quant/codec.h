#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "quant/blocks.h"
#include "quant/format.h"

// What the formats' own files share.

namespace bactrian {

/// A Format from two functions for one block each: decode(block, float[kElems]) and
/// encode(const float[kElems]) -> block.
template <typename Block, void (*decode)(const Block&, float*) noexcept,
          Block (*encode)(const float*) noexcept>
constexpr Format block_format(DType dtype) {
  return {dtype,
          [](const std::byte* src, float* dst, int64_t n) noexcept {
            for (; n > 0; n -= Block::kElems, src += sizeof(Block), dst += Block::kElems) {
              Block block;
              std::memcpy(&block, src, sizeof(Block));
              decode(block, dst);
            }
          },
          [](const float* src, std::byte* dst, int64_t n) noexcept {
            for (; n > 0; n -= Block::kElems, src += Block::kElems, dst += sizeof(Block)) {
              const Block block = encode(src);
              std::memcpy(dst, &block, sizeof(Block));
            }
          }};
}

/// x / step to the nearest integer in [low, high]; low if that is no number, 0 if step is 0.
inline int quantum(float x, float step, int low, int high) noexcept {
  if (step == 0.0f) return std::clamp(0, low, high);
  const float ratio = x / step;
  if (!(ratio > static_cast<float>(low))) return low;
  if (ratio >= static_cast<float>(high)) return high;
  return static_cast<int>(std::lrintf(ratio));
}

/// Index of the first of the 16 codes nearest to x / step.
inline uint8_t nearest_code(float x, float step, const int8_t* values) noexcept {
  const float ratio = step == 0.0f ? 0.0f : x / step;
  int best = 0;
  float best_distance = INFINITY;
  for (int i = 0; i < 16; ++i) {
    const float distance = std::fabs(ratio - static_cast<float>(values[i]));
    if (distance < best_distance) {
      best_distance = distance;
      best = i;
    }
  }
  return static_cast<uint8_t>(best);
}

/// binary16 of a scale or an offset; finite for every finite value.
inline uint16_t finite_half(float value) noexcept {
  return float_to_half(std::clamp(value, -65504.0f, 65504.0f));
}

/// The element of the largest magnitude, with its sign.
inline float extreme(const float* x, int n) noexcept {
  float best = 0.0f;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(best)) best = x[i];
  }
  return best;
}

inline uint8_t nibble_pair(int low, int high) noexcept {
  return static_cast<uint8_t>(low | (high << 4));
}

/// Code i of 32 in 16 bytes: the low nibbles hold the first half.
inline int nibble(const uint8_t* qs, int i) noexcept {
  return i < 16 ? qs[i] & 15 : qs[i - 16] >> 4;
}

/// Sub-blocks of K formats with offsets: value = d * scale * q - dmin * offset, all codes unsigned.
/// The offset covers the lowest element, the scale the rest of the range up to q_max.
template <int kCount, int kElems>
struct SubBlocks {
  uint16_t d = 0, dmin = 0;
  int scales[kCount], offsets[kCount];
  int codes[kCount * kElems];

  SubBlocks(const float* x, int q_max, int scale_max) noexcept {
    float lowest[kCount], ranges[kCount];
    for (int j = 0; j < kCount; ++j) {
      lowest[j] = -std::min(0.0f, *std::min_element(x + j * kElems, x + (j + 1) * kElems));
    }
    dmin = finite_half(*std::max_element(lowest, lowest + kCount) / static_cast<float>(scale_max));
    const float offset_step = half_to_float(dmin);
    for (int j = 0; j < kCount; ++j) {
      offsets[j] = quantum(lowest[j], offset_step, 0, scale_max);
      const float highest = *std::max_element(x + j * kElems, x + (j + 1) * kElems);
      ranges[j] = highest + offset_step * static_cast<float>(offsets[j]);
    }
    const float widest = std::max(0.0f, *std::max_element(ranges, ranges + kCount));
    d = finite_half(widest / static_cast<float>(q_max) / static_cast<float>(scale_max));
    const float scale_step = half_to_float(d);
    for (int j = 0; j < kCount; ++j) {
      scales[j] = quantum(ranges[j] / static_cast<float>(q_max), scale_step, 0, scale_max);
      const float step = scale_step * static_cast<float>(scales[j]);
      const float offset = offset_step * static_cast<float>(offsets[j]);
      for (int i = j * kElems; i < (j + 1) * kElems; ++i) {
        codes[i] = quantum(x[i] + offset, step, 0, q_max);
      }
    }
  }
};

/// Sub-blocks of formats without offsets: value = d * scale * q, scales and codes signed. The
/// element of the largest magnitude gets the code `q_extreme`, the largest scale `scale_extreme`
/// (both negative: that side reaches one further).
template <int kCount, int kElems>
struct SignedSubBlocks {
  uint16_t d = 0;
  int scales[kCount];
  float steps[kCount];  // d * scale

  SignedSubBlocks(const float* x, int q_extreme, int scale_extreme) noexcept {
    float wanted[kCount];
    for (int j = 0; j < kCount; ++j) {
      wanted[j] = extreme(x + j * kElems, kElems) / static_cast<float>(q_extreme);
    }
    d = finite_half(extreme(wanted, kCount) / static_cast<float>(scale_extreme));
    const float scale_step = half_to_float(d);
    for (int j = 0; j < kCount; ++j) {
      scales[j] = quantum(wanted[j], scale_step, scale_extreme, -scale_extreme - 1);
      steps[j] = scale_step * static_cast<float>(scales[j]);
    }
  }
};

/// Packs 6-bit scales and offsets of eight sub-blocks; see unpack_scale_offset.
inline void pack_scale_offset(const int* scales, const int* offsets, uint8_t* packed) noexcept {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(scales[j] | ((scales[j + 4] >> 4) << 6));
    packed[j + 4] = static_cast<uint8_t>(offsets[j] | ((offsets[j + 4] >> 4) << 6));
    packed[j + 8] = nibble_pair(scales[j + 4] & 15, offsets[j + 4] & 15);
  }
}

}  // namespace bactrian
