#include "quant/codec.h"
#include "quant/formats.h"

// Q5_1: 32 elements, value = d * q + m, q 4 bits in qs and a fifth in bit i of qh, m the lowest
// element.

namespace bactrian {
namespace {

void decode(const BlockQ5_1& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  const float m = half_to_float(block.m);
  for (int i = 0; i < 32; ++i) {
    const int high = (block.qh[i / 8] >> (i % 8)) & 1;
    y[i] = d * static_cast<float>(nibble(block.qs, i) | (high << 4)) + m;
  }
}

BlockQ5_1 encode(const float* x) noexcept {
  BlockQ5_1 block{};
  block.m = finite_half(*std::min_element(x, x + 32));
  const float m = half_to_float(block.m);
  block.d = finite_half((*std::max_element(x, x + 32) - m) / 31.0f);
  const float d = half_to_float(block.d);
  int q[32];
  for (int i = 0; i < 32; ++i) {
    q[i] = quantum(x[i] - m, d, 0, 31);
    block.qh[i / 8] |= static_cast<uint8_t>((q[i] >> 4) << (i % 8));
  }
  for (int i = 0; i < 16; ++i) block.qs[i] = nibble_pair(q[i] & 15, q[i + 16] & 15);
  return block;
}

}  // namespace

constinit const Format kQ5_1 = block_format<BlockQ5_1, decode, encode>(DType::Q5_1);

}  // namespace bactrian
