#include "quant/codec.h"
#include "quant/formats.h"

// Q5_0: 32 elements, value = d * (q - 16), q 4 bits in qs and a fifth in bit i of qh. The element
// of the largest magnitude gets q = 0.

namespace bactrian {
namespace {

void decode(const BlockQ5_0& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 32; ++i) {
    const int high = (block.qh[i / 8] >> (i % 8)) & 1;
    y[i] = d * static_cast<float>((nibble(block.qs, i) | (high << 4)) - 16);
  }
}

BlockQ5_0 encode(const float* x) noexcept {
  BlockQ5_0 block{};
  block.d = finite_half(extreme(x, 32) / -16.0f);
  const float d = half_to_float(block.d);
  int q[32];
  for (int i = 0; i < 32; ++i) {
    q[i] = quantum(x[i], d, -16, 15) + 16;
    block.qh[i / 8] |= static_cast<uint8_t>((q[i] >> 4) << (i % 8));
  }
  for (int i = 0; i < 16; ++i) block.qs[i] = nibble_pair(q[i] & 15, q[i + 16] & 15);
  return block;
}

}  // namespace

constinit const Format kQ5_0 = block_format<BlockQ5_0, decode, encode>(DType::Q5_0);

}  // namespace bactrian
