#include "quant/codec.h"
#include "quant/formats.h"

// BF16: the upper half of a binary32.

namespace bactrian {
namespace {

void decode(const BlockBF16& block, float* y) noexcept { y[0] = bfloat16_to_float(block.bits); }

BlockBF16 encode(const float* x) noexcept { return {float_to_bfloat16(x[0])}; }

}  // namespace

constinit const Format kBF16 = block_format<BlockBF16, decode, encode>(DType::BF16);

}  // namespace bactrian
