#include "quant/codec.h"
#include "quant/formats.h"

// Q6_K: 256 elements in sub-blocks of 16, value = d * scale * (q - 32); scale signed 8 bits, q 6
// bits. Of each half, 64 bytes of ql hold the low nibbles of elements b, then b + 64; byte b of 32
// in qh the upper two bits of elements b, b + 32, b + 64 and b + 96.

namespace bactrian {
namespace {

void decode(const BlockQ6_K& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 256; ++i) {
    const int low = (block.ql[i / 128 * 64 + i % 64] >> (4 * (i / 64 % 2))) & 15;
    const int high = (block.qh[i / 128 * 32 + i % 32] >> (2 * (i / 32 % 4))) & 3;
    const float step = d * static_cast<float>(block.scales[i / 16]);
    y[i] = step * static_cast<float>((low | (high << 4)) - 32);
  }
}

BlockQ6_K encode(const float* x) noexcept {
  const SignedSubBlocks<16, 16> sub(x, -32, -128);
  BlockQ6_K block{};
  block.d = sub.d;
  for (int j = 0; j < 16; ++j) block.scales[j] = static_cast<int8_t>(sub.scales[j]);
  for (int i = 0; i < 256; ++i) {
    const int code = quantum(x[i], sub.steps[i / 16], -32, 31) + 32;
    block.ql[i / 128 * 64 + i % 64] |= static_cast<uint8_t>((code & 15) << (4 * (i / 64 % 2)));
    block.qh[i / 128 * 32 + i % 32] |= static_cast<uint8_t>((code >> 4) << (2 * (i / 32 % 4)));
  }
  return block;
}

}  // namespace

constinit const Format kQ6_K = block_format<BlockQ6_K, decode, encode>(DType::Q6_K);

}  // namespace bactrian
