#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace bactrian {

/// How one element type turns bytes into numbers and back. The scalar code here is the oracle for
/// every kernel; layouts and formulas stand at the top of each format's file.
struct Format {
  DType dtype;

  /// dst[0, n) = values of the blocks at src; n is a multiple of the block size. No alignment is
  /// assumed for src. Bit-identical on every ISA.
  void (*dequantize)(const std::byte* src, float* dst, int64_t n) noexcept;

  /// Plain round-to-nearest quantisation of src[0, n) into blocks at dst.
  void (*quantize)(const float* src, std::byte* dst, int64_t n) noexcept;
};

/// Every DType has a format.
const Format& format(DType dtype) noexcept;

}  // namespace bactrian
