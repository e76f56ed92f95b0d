#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bactrian {

/// Element types of GGUF tensors; the values are the type ids in the file.
enum class DType : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  IQ4_NL = 20,
  IQ4_XS = 23,
  BF16 = 30,
  MXFP4 = 39,
};

/// Geometry of one element type: a row is a whole number of blocks.
struct DTypeInfo {
  DType dtype;
  std::string_view name;  // upper case, as the field writes it: "Q4_K"
  int block_elems;
  int block_bytes;

  constexpr int64_t row_bytes(int64_t elems) const { return elems / block_elems * block_bytes; }
};

/// Geometry by type; every DType value has one.
const DTypeInfo& dtype_info(DType dtype) noexcept;

/// Geometry by the id in a file; nullptr for ids that this engine does not read.
const DTypeInfo* find_dtype(uint32_t file_id) noexcept;

/// Geometry by name, any case ("q4_k"); nullptr if unknown.
const DTypeInfo* find_dtype(std::string_view name) noexcept;

/// All names, comma separated, for error messages.
std::string_view dtype_names() noexcept;

}  // namespace bactrian
