#include "quant/codec.h"
#include "quant/formats.h"

// F32: the value itself.

namespace bactrian {
namespace {

void decode(const BlockF32& block, float* y) noexcept { y[0] = block.value; }

BlockF32 encode(const float* x) noexcept { return {x[0]}; }

}  // namespace

constinit const Format kF32 = block_format<BlockF32, decode, encode>(DType::F32);

}  // namespace bactrian
