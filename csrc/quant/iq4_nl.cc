#include "quant/codec.h"
#include "quant/formats.h"

// IQ4_NL: 32 elements, value = d * kIq4Values[q]. The element of the largest magnitude gets -127.

namespace bactrian {
namespace {

void decode(const BlockIQ4_NL& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(kIq4Values[nibble(block.qs, i)]);
}

BlockIQ4_NL encode(const float* x) noexcept {
  BlockIQ4_NL block;
  block.d = finite_half(extreme(x, 32) / -127.0f);
  const float d = half_to_float(block.d);
  for (int i = 0; i < 16; ++i) {
    block.qs[i] =
        nibble_pair(nearest_code(x[i], d, kIq4Values), nearest_code(x[i + 16], d, kIq4Values));
  }
  return block;
}

}  // namespace

constinit const Format kIQ4_NL = block_format<BlockIQ4_NL, decode, encode>(DType::IQ4_NL);

}  // namespace bactrian
