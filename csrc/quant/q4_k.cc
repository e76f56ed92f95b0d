#include "quant/codec.h"
#include "quant/formats.h"

// Q4_K: 256 elements in sub-blocks of 32, value = d * scale * q - dmin * offset; q 4 bits, scale
// and offset 6 bits. Each 32 bytes of qs hold two sub-blocks: low nibbles, then high nibbles.

namespace bactrian {
namespace {

void decode(const BlockQ4_K& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  const float dmin = half_to_float(block.dmin);
  for (int i = 0; i < 256; ++i) {
    const int code = (block.qs[i / 64 * 32 + i % 32] >> (4 * (i / 32 % 2))) & 15;
    const ScaleOffset sub = unpack_scale_offset(block.scales, i / 32);
    const float step = d * static_cast<float>(sub.scale);
    const float offset = dmin * static_cast<float>(sub.offset);
    y[i] = step * static_cast<float>(code) - offset;
  }
}

BlockQ4_K encode(const float* x) noexcept {
  const SubBlocks<8, 32> sub(x, 15, 63);
  BlockQ4_K block{};
  block.d = sub.d;
  block.dmin = sub.dmin;
  pack_scale_offset(sub.scales, sub.offsets, block.scales);
  for (int i = 0; i < 256; ++i) {
    block.qs[i / 64 * 32 + i % 32] |= static_cast<uint8_t>(sub.codes[i] << (4 * (i / 32 % 2)));
  }
  return block;
}

}  // namespace

constinit const Format kQ4_K = block_format<BlockQ4_K, decode, encode>(DType::Q4_K);

}  // namespace bactrian
