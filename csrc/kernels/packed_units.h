#pragma once

#include <cstdint>

namespace bactrian {

/// Rows of a weight that are interleaved together; the width of the panels that kernels work on.
inline constexpr int kGroupRows = 16;

// Units of packed weights: some consecutive k of 16 rows, lanes r side by side, so that one k of
// all rows expands to two vectors of 8 floats without a shuffle. Numbers are little-endian; d, m
// and e are binary16.
//
// Codes lie in words of 32 bits by row: `low4[j]` holds the lowest 4 bits of k = 8 j + i at bit
// 4 i; `low2[j]` and `high2[j]` hold 2 bits of k = 16 j + i at bit 2 i; `high1[j]` holds one bit of
// k = 32 j + i at bit i. High bits stand above the low ones in the code q.
//
// s and m without a type of their own are integers for each 32 k (_K and XS: [8]) or 16 k ([16]).

struct UnitF32 {  // v
  static constexpr int kElems = 1;
  float v[16];
};
struct UnitF16 {  // v
  static constexpr int kElems = 1;
  uint16_t v[16];
};
struct UnitBF16 {  // v, bfloat16
  static constexpr int kElems = 1;
  uint16_t v[16];
};
struct UnitQ4_0 {  // d (q - 8)
  static constexpr int kElems = 32;
  uint16_t d[16];
  uint32_t low4[4][16];
};
struct UnitQ4_1 {  // d q + m
  static constexpr int kElems = 32;
  uint16_t d[16], m[16];
  uint32_t low4[4][16];
};
struct UnitQ5_0 {  // d (q - 16)
  static constexpr int kElems = 32;
  uint16_t d[16];
  uint32_t high1[1][16];
  uint32_t low4[4][16];
};
struct UnitQ5_1 {  // d q + m
  static constexpr int kElems = 32;
  uint16_t d[16], m[16];
  uint32_t high1[1][16];
  uint32_t low4[4][16];
};
struct UnitQ8_0 {  // d q
  static constexpr int kElems = 32;
  uint16_t d[16];
  int8_t q[32][16];
};
struct UnitQ2_K {  // d s q - e m
  static constexpr int kElems = 256;
  uint16_t d[16], e[16];
  uint8_t s[16][16], m[16][16];
  uint32_t low2[16][16];
};
struct UnitQ3_K {  // d s (q - 4)
  static constexpr int kElems = 256;
  uint16_t d[16];
  int8_t s[16][16];
  uint32_t low2[16][16];
  uint32_t high1[8][16];
};
struct UnitQ4_K {  // d s q - e m
  static constexpr int kElems = 256;
  uint16_t d[16], e[16];
  uint8_t s[8][16], m[8][16];
  uint32_t low4[32][16];
};
struct UnitQ5_K {  // d s q - e m
  static constexpr int kElems = 256;
  uint16_t d[16], e[16];
  uint8_t s[8][16], m[8][16];
  uint32_t high1[8][16];
  uint32_t low4[32][16];
};
struct UnitQ6_K {  // d s (q - 32)
  static constexpr int kElems = 256;
  uint16_t d[16];
  int8_t s[16][16];
  uint32_t high2[16][16];
  uint32_t low4[32][16];
};
struct UnitIQ4_NL {  // d values[q], kIq4Values of quant/blocks.h
  static constexpr int kElems = 32;
  uint16_t d[16];
  uint32_t low4[4][16];
};
struct UnitIQ4_XS {  // d s values[q]
  static constexpr int kElems = 256;
  uint16_t d[16];
  int8_t s[8][16];
  uint32_t low4[32][16];
};
struct UnitMXFP4 {  // d values[q], kE2m1Doubled of quant/blocks.h; d is bfloat16, a power of two
  static constexpr int kElems = 32;
  uint16_t d[16];
  uint32_t low4[4][16];
};

}  // namespace bactrian
