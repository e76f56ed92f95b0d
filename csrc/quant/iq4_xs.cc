#include "quant/codec.h"
#include "quant/formats.h"

// IQ4_XS: 256 elements in sub-blocks of 32, value = d * scale * kIq4Values[q]; scale -32..31. Each
// sub-block has 16 bytes of qs, laid out as in IQ4_NL.

namespace bactrian {
namespace {

void decode(const BlockIQ4_XS& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 256; ++i) {
    const float step = d * static_cast<float>(unpack_scale_iq4_xs(block, i / 32));
    y[i] = step * static_cast<float>(kIq4Values[nibble(block.qs + i / 32 * 16, i % 32)]);
  }
}

BlockIQ4_XS encode(const float* x) noexcept {
  const SignedSubBlocks<8, 32> sub(x, -127, -32);
  BlockIQ4_XS block{};
  block.d = sub.d;
  for (int j = 0; j < 8; ++j) {
    const int scale = sub.scales[j] + 32;
    block.scales_l[j / 2] |= static_cast<uint8_t>((scale & 15) << (4 * (j % 2)));
    block.scales_h = static_cast<uint16_t>(block.scales_h | ((scale >> 4) << (2 * j)));
    for (int i = 0; i < 16; ++i) {
      const float* element = x + j * 32 + i;
      block.qs[j * 16 + i] = nibble_pair(nearest_code(element[0], sub.steps[j], kIq4Values),
                                         nearest_code(element[16], sub.steps[j], kIq4Values));
    }
  }
  return block;
}

}  // namespace

constinit const Format kIQ4_XS = block_format<BlockIQ4_XS, decode, encode>(DType::IQ4_XS);

}  // namespace bactrian
