#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace bactrian {

/// Rows of a weight that are interleaved together; the width of the panels that kernels work on.
inline constexpr int kGroupRows = 16;

/// How 16 rows of a weight lie in memory once packed. A group is a run of units; a unit holds
/// `unit_elems` consecutive k of all 16 rows (r below), so that one k of 16 rows expands to two
/// vectors of 8 floats without a shuffle. Numbers are little-endian.
///
///   kind   k per unit  unit                                                      value
///   f32       1        float v[16]                                               v
///   f16       1        half v[16]                                                v
///   bf16      1        bfloat v[16]                                              v
///   q8_0     32        half d[16]; int8 q[32][16]                                d q
///   q4_0     32        half d[16]; uint32 q[4][16]                               d (q - 8)
///   q4_1     32        half d[16], m[16]; uint32 q[4][16]                        d q + m
///   q4_k    256        half d[16], e[16]; uint8 s[8][16], m[8][16];              d s q - e m
///                      uint32 q[32][16]
///
/// Nibble i of q[j][r] is the quant of k = 8 j + i of the unit; s and m are per 32 k.
enum class PackedKind : uint8_t { f32, f16, bf16, q8_0, q4_0, q4_1, q4_k };
inline constexpr int kPackedKinds = 7;

struct PackedLayout {
  PackedKind kind;
  DType dtype;
  int unit_elems;
  int unit_bytes;

  /// Interleaves one unit. rows[r] points at the source blocks of row r for this unit's k; a null
  /// row is filled with zero bytes, which every kind reads as zeros.
  void (*pack_unit)(const std::byte* const* rows, std::byte* dst) noexcept;

  /// A multiple of 32 bytes, so that every unit of an aligned weight is aligned.
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
