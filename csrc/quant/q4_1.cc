#include "quant/codec.h"
#include "quant/formats.h"

// Q4_1: 32 elements, value = d * q + m, q 4 bits, m the lowest element.

namespace bactrian {
namespace {

void decode(const BlockQ4_1& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  const float m = half_to_float(block.m);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(nibble(block.qs, i)) + m;
}

BlockQ4_1 encode(const float* x) noexcept {
  BlockQ4_1 block;
  block.m = finite_half(*std::min_element(x, x + 32));
  const float m = half_to_float(block.m);
  block.d = finite_half((*std::max_element(x, x + 32) - m) / 15.0f);
  const float d = half_to_float(block.d);
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = nibble_pair(quantum(x[i] - m, d, 0, 15), quantum(x[i + 16] - m, d, 0, 15));
  }
  return block;
}

}  // namespace

constinit const Format kQ4_1 = block_format<BlockQ4_1, decode, encode>(DType::Q4_1);

}  // namespace bactrian
