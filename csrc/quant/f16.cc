#include "quant/codec.h"
#include "quant/formats.h"

// F16: IEEE 754 binary16.

namespace bactrian {
namespace {

void decode(const BlockF16& block, float* y) noexcept { y[0] = half_to_float(block.bits); }

BlockF16 encode(const float* x) noexcept { return {float_to_half(x[0])}; }

}  // namespace

constinit const Format kF16 = block_format<BlockF16, decode, encode>(DType::F16);

}  // namespace bactrian
