#include "quant/codec.h"
#include "quant/formats.h"

// Q8_0: 32 elements, value = d * q, q signed 8 bits.

namespace bactrian {
namespace {

void decode(const BlockQ8_0& block, float* y) noexcept {
  const float d = half_to_float(block.d);
  for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(block.qs[i]);
}

BlockQ8_0 encode(const float* x) noexcept {
  BlockQ8_0 block;
  block.d = finite_half(std::fabs(extreme(x, 32)) / 127.0f);
  const float d = half_to_float(block.d);
  for (int i = 0; i < 32; ++i) block.qs[i] = static_cast<int8_t>(quantum(x[i], d, -127, 127));
  return block;
}

}  // namespace

constinit const Format kQ8_0 = block_format<BlockQ8_0, decode, encode>(DType::Q8_0);

}  // namespace bactrian
