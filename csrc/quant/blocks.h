#pragma once

#include <cstdint>

namespace bactrian {

// Blocks as they lie in a file, little-endian. `d` and `m` are binary16 scales and offsets; arrays
// named qs hold the low bits, qh the high bits. The formula of each stands in its format's file.

struct BlockF32 {
  static constexpr int kElems = 1;
  float value;
};
struct BlockF16 {
  static constexpr int kElems = 1;
  uint16_t bits;
};
struct BlockBF16 {
  static constexpr int kElems = 1;
  uint16_t bits;
};
struct BlockQ4_0 {
  static constexpr int kElems = 32;
  uint16_t d;
  uint8_t qs[16];
};
struct BlockQ4_1 {
  static constexpr int kElems = 32;
  uint16_t d, m;
  uint8_t qs[16];
};
struct BlockQ5_0 {
  static constexpr int kElems = 32;
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};
struct BlockQ5_1 {
  static constexpr int kElems = 32;
  uint16_t d, m;
  uint8_t qh[4];
  uint8_t qs[16];
};
struct BlockQ8_0 {
  static constexpr int kElems = 32;
  uint16_t d;
  int8_t qs[32];
};
struct BlockQ2_K {
  static constexpr int kElems = 256;
  uint8_t scales[16];  // low nibble: scale, high nibble: offset
  uint8_t qs[64];
  uint16_t d, dmin;
};
struct BlockQ3_K {
  static constexpr int kElems = 256;
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};
struct BlockQ4_K {
  static constexpr int kElems = 256;
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};
struct BlockQ5_K {
  static constexpr int kElems = 256;
  uint16_t d, dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
struct BlockQ6_K {
  static constexpr int kElems = 256;
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};
struct BlockIQ4_NL {
  static constexpr int kElems = 32;
  uint16_t d;
  uint8_t qs[16];
};
struct BlockIQ4_XS {
  static constexpr int kElems = 256;
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};
struct BlockMXFP4 {
  static constexpr int kElems = 32;
  uint8_t e;
  uint8_t qs[16];
};

/// Values of the 4-bit codes of IQ4_NL and IQ4_XS.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

/// Twice the values of the 4-bit codes E2M1 (OCP Microscaling Formats 1.0).
inline constexpr int8_t kE2m1Doubled[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

/// The 6-bit scale and offset of sub-block j of Q4_K and Q5_K. The twelve bytes: low six bits of
/// scales 0-3, of offsets 0-3, then nibbles of scales (low) and offsets (high) 4-7, whose upper two
/// bits fill the top of the first eight bytes.
struct ScaleOffset {
  uint8_t scale, offset;
};
inline ScaleOffset unpack_scale_offset(const uint8_t* scales, int j) noexcept {
  if (j < 4) {
    return {static_cast<uint8_t>(scales[j] & 63), static_cast<uint8_t>(scales[j + 4] & 63)};
  }
  return {static_cast<uint8_t>((scales[j + 4] & 15) | ((scales[j - 4] >> 6) << 4)),
          static_cast<uint8_t>((scales[j + 4] >> 4) | ((scales[j] >> 6) << 4))};
}

/// The scale of sub-block j of Q3_K, -32..31: four low bits as nibbles of bytes 0-7, two high bits
/// in bytes 8-11.
inline int unpack_scale_q3_k(const uint8_t* scales, int j) noexcept {
  const int low = j < 8 ? scales[j] & 15 : scales[j - 8] >> 4;
  const int high = (scales[8 + j % 4] >> (2 * (j / 4))) & 3;
  return (low | (high << 4)) - 32;
}

/// The scale of sub-block j of IQ4_XS, -32..31.
inline int unpack_scale_iq4_xs(const BlockIQ4_XS& block, int j) noexcept {
  const int low = (block.scales_l[j / 2] >> (4 * (j % 2))) & 15;
  const int high = (block.scales_h >> (2 * j)) & 3;
  return (low | (high << 4)) - 32;
}

}  // namespace bactrian
