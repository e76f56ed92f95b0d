#include "quant/codec.h"
#include "quant/formats.h"

// Q3_K: 256 elements in sub-blocks of 16, value = d * scale * q; scale -32..31, q -4..3: two bits
// in qs (as in Q2_K) and 4 less where bit i / 32 of hmask[i % 32] is clear.

namespace bactrian {
namespace {

void decode(const BlockQ3_K& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 256; ++i) {
    const int low = (block.qs[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4))) & 3;
    const int high = (block.hmask[i % 32] >> (i / 32)) & 1;
    const float step = d * static_cast<float>(unpack_scale_q3_k(block.scales, i / 16));
    y[i] = step * static_cast<float>(low + 4 * high - 4);
  }
}

BlockQ3_K encode(const float* x) noexcept {
  const SignedSubBlocks<16, 16> sub(x, -4, -32);
  BlockQ3_K block{};
  block.d = sub.d;
  for (int j = 0; j < 16; ++j) {
    const int scale = sub.scales[j] + 32;
    block.scales[j % 8] |= static_cast<uint8_t>((scale & 15) << (j < 8 ? 0 : 4));
    block.scales[8 + j % 4] |= static_cast<uint8_t>((scale >> 4) << (2 * (j / 4)));
  }
  for (int i = 0; i < 256; ++i) {
    const int code = quantum(x[i], sub.steps[i / 16], -4, 3) + 4;
    block.qs[i / 128 * 32 + i % 32] |= static_cast<uint8_t>((code & 3) << (2 * (i / 32 % 4)));
    block.hmask[i % 32] |= static_cast<uint8_t>((code >> 2) << (i / 32));
  }
  return block;
}

}  // namespace

constinit const Format kQ3_K = block_format<BlockQ3_K, decode, encode>(DType::Q3_K);

}  // namespace bactrian
