#include "quant/codec.h"
#include "quant/formats.h"

// Q2_K: 256 elements in sub-blocks of 16, value = d * scale * q - dmin * offset; q 2 bits, scale
// and offset 4 bits. Byte b of each 32 in qs holds elements b, b + 32, b + 64 and b + 96 of a half.

namespace bactrian {
namespace {

void decode(const BlockQ2_K& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  const float dmin = half_to_float(block.dmin);
  for (int i = 0; i < 256; ++i) {
    const int code = (block.qs[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4))) & 3;
    const uint8_t packed = block.scales[i / 16];
    const float step = d * static_cast<float>(packed & 15);
    const float offset = dmin * static_cast<float>(packed >> 4);
    y[i] = step * static_cast<float>(code) - offset;
  }
}

BlockQ2_K encode(const float* x) noexcept {
  const SubBlocks<16, 16> sub(x, 3, 15);
  BlockQ2_K block{};
  block.d = sub.d;
  block.dmin = sub.dmin;
  for (int j = 0; j < 16; ++j) block.scales[j] = nibble_pair(sub.scales[j], sub.offsets[j]);
  for (int i = 0; i < 256; ++i) {
    block.qs[i / 128 * 32 + i % 32] |= static_cast<uint8_t>(sub.codes[i] << (2 * (i / 32 % 4)));
  }
  return block;
}

}  // namespace

constinit const Format kQ2_K = block_format<BlockQ2_K, decode, encode>(DType::Q2_K);

}  // namespace bactrian
