#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/packed_units.h"

namespace bactrian {

/// The packed layouts, one for each element type; units in kernels/packed_units.h.
enum class PackedKind : uint8_t {
  f32,
  f16,
  bf16,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
};
inline constexpr int kPackedKinds = 16;

/// How 16 rows of a weight lie in memory once packed: a group is a run of units, a unit holds
/// `unit_elems` consecutive k of all 16 rows.
struct PackedLayout {
  PackedKind kind;
  DType dtype;
  int unit_elems;
  int unit_bytes;  // a multiple of 32, so that every unit of an aligned weight is aligned

  /// Interleaves one unit. rows[r] points at the source blocks of row r for this unit's k; a null
  /// row is filled with zero bytes, which every kind reads as zeros.
  void (*pack_unit)(const std::byte* const* rows, std::byte* dst) noexcept;

  constexpr size_t group_bytes(int64_t n_cols) const {
    return static_cast<size_t>(n_cols / unit_elems) * static_cast<size_t>(unit_bytes);
  }
};

/// The packed layout of a type; nullptr if it has none and stays as it is in the file.
const PackedLayout* packed_layout(DType dtype) noexcept;

/// Packs rows [16 group, 16 group + 16) of a row-major matrix [n_rows, n_cols] into dst.
void pack_group(const PackedLayout& layout, const std::byte* rows, int64_t n_rows, int64_t n_cols,
                int64_t group, std::byte* dst) noexcept;

}  // namespace bactrian
