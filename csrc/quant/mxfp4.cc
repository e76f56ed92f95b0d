#include "quant/codec.h"
#include "quant/formats.h"

// MXFP4: 32 elements, value = 2^(e - 127) * E2M1[q] (OCP Microscaling Formats 1.0). The exponent is
// the specification's: the largest magnitude falls into [4, 8) steps and saturates at 6. As in the
// reference, e = 255 is a scale like any other, not NaN.

namespace bactrian {
namespace {

void decode(const BlockMXFP4& block, float* y) noexcept {
  const float step = std::ldexp(1.0f, block.e - 128);
  for (int i = 0; i < 32; ++i) y[i] = step * static_cast<float>(kE2m1Doubled[nibble(block.qs, i)]);
}

BlockMXFP4 encode(const float* x) noexcept {
  constexpr int kLargestExponent = 2;  // of E2M1
  const float largest = std::fabs(extreme(x, 32));
  const int exponent = std::isfinite(largest) && largest > 0.0f ? std::ilogb(largest) : -127;
  BlockMXFP4 block;
  block.e = static_cast<uint8_t>(std::clamp(exponent - kLargestExponent + 127, 0, 254));
  const float step = std::ldexp(1.0f, block.e - 128);
  for (int i = 0; i < 16; ++i) {
    block.qs[i] = nibble_pair(nearest_code(x[i], step, kE2m1Doubled),
                              nearest_code(x[i + 16], step, kE2m1Doubled));
  }
  return block;
}

}  // namespace

constinit const Format kMXFP4 = block_format<BlockMXFP4, decode, encode>(DType::MXFP4);

}  // namespace bactrian
