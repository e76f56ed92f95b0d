#include "quant/codec.h"
#include "quant/formats.h"

// Q5_K: as Q4_K, with the fifth bit of element i in bit i / 32 of qh[i % 32].

namespace bactrian {
namespace {

void decode(const BlockQ5_K& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  const float dmin = half_to_float(block.dmin);
  for (int i = 0; i < 256; ++i) {
    const int low = (block.qs[i / 64 * 32 + i % 32] >> (4 * (i / 32 % 2))) & 15;
    const int code = low | (((block.qh[i % 32] >> (i / 32)) & 1) << 4);
    const ScaleOffset sub = unpack_scale_offset(block.scales, i / 32);
    const float step = d * static_cast<float>(sub.scale);
    const float offset = dmin * static_cast<float>(sub.offset);
    y[i] = step * static_cast<float>(code) - offset;
  }
}

BlockQ5_K encode(const float* x) noexcept {
  const SubBlocks<8, 32> sub(x, 31, 63);
  BlockQ5_K block{};
  block.d = sub.d;
  block.dmin = sub.dmin;
  pack_scale_offset(sub.scales, sub.offsets, block.scales);
  for (int i = 0; i < 256; ++i) {
    const int low = sub.codes[i] & 15;
    block.qs[i / 64 * 32 + i % 32] |= static_cast<uint8_t>(low << (4 * (i / 32 % 2)));
    block.qh[i % 32] |= static_cast<uint8_t>((sub.codes[i] >> 4) << (i / 32));
  }
  return block;
}

}  // namespace

constinit const Format kQ5_K = block_format<BlockQ5_K, decode, encode>(DType::Q5_K);

}  // namespace bactrian
