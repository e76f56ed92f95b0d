#include "quant/codec.h"
#include "quant/formats.h"

// Q4_0: 32 elements, value = d * (q - 8), q 4 bits. The element of the largest magnitude gets q =
// 0.

namespace bactrian {
namespace {

void decode(const BlockQ4_0& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(nibble(block.qs, i) - 8);
}

BlockQ4_0 encode(const float* x) noexcept {
  BlockQ4_0 block;
  block.d = finite_half(extreme(x, 32) / -8.0f);
  const float d = half_to_float(block.d);
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = nibble_pair(quantum(x[i], d, -8, 7) + 8, quantum(x[i + 16], d, -8, 7) + 8);
  }
  return block;
}

}  // namespace

constinit const Format kQ4_0 = block_format<BlockQ4_0, decode, encode>(DType::Q4_0);

}  // namespace bactrian
