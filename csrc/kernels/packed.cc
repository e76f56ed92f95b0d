#include "kernels/packed.h"

#include <cstring>

#include "quant/blocks.h"

namespace bactrian {
namespace {

template <typename T>
T load(const std::byte* src) {
  T value;
  std::memcpy(&value, src, sizeof value);
  return value;
}

/// One element of each row side by side.
template <size_t kBytes>
void pack_elements(const std::byte* const* rows, std::byte* dst) noexcept {
  for (int r = 0; r < kGroupRows; ++r) {
    if (rows[r] == nullptr) {
      std::memset(dst + static_cast<size_t>(r) * kBytes, 0, kBytes);
    } else {
      std::memcpy(dst + static_cast<size_t>(r) * kBytes, rows[r], kBytes);
    }
  }
}

/// nibble(k) for 8 k in one word.
template <typename Nibble>
uint32_t pack_nibbles(int k_begin, const Nibble& nibble) {
  uint32_t word = 0;
  for (int i = 0; i < 8; ++i) word |= static_cast<uint32_t>(nibble(k_begin + i)) << (4 * i);
  return word;
}

/// Code k of 32: the low nibbles of 16 bytes hold the first half.
uint8_t split_nibble(const uint8_t* qs, int k) {
  return k < 16 ? qs[k] & 15 : static_cast<uint8_t>(qs[k - 16] >> 4);
}

struct UnitQ8_0 {
  uint16_t d[kGroupRows];
  int8_t q[32][kGroupRows];
};

void pack_q8_0(const std::byte* const* rows, std::byte* dst) noexcept {
  UnitQ8_0 unit{};
  for (int r = 0; r < kGroupRows; ++r) {
    if (rows[r] == nullptr) continue;
    const auto block = load<BlockQ8_0>(rows[r]);
    unit.d[r] = block.d;
    for (int k = 0; k < 32; ++k) unit.q[k][r] = block.qs[k];
  }
  std::memcpy(dst, &unit, sizeof unit);
}

struct UnitQ4_0 {
  uint16_t d[kGroupRows];
  uint32_t q[4][kGroupRows];
};

void pack_q4_0(const std::byte* const* rows, std::byte* dst) noexcept {
  UnitQ4_0 unit{};
  for (int r = 0; r < kGroupRows; ++r) {
    if (rows[r] == nullptr) continue;
    const auto block = load<BlockQ4_0>(rows[r]);
    unit.d[r] = block.d;
    for (int j = 0; j < 4; ++j) {
      unit.q[j][r] = pack_nibbles(8 * j, [&](int k) { return split_nibble(block.qs, k); });
    }
  }
  std::memcpy(dst, &unit, sizeof unit);
}

struct UnitQ4_1 {
  uint16_t d[kGroupRows];
  uint16_t m[kGroupRows];
  uint32_t q[4][kGroupRows];
};

void pack_q4_1(const std::byte* const* rows, std::byte* dst) noexcept {
  UnitQ4_1 unit{};
  for (int r = 0; r < kGroupRows; ++r) {
    if (rows[r] == nullptr) continue;
    const auto block = load<BlockQ4_1>(rows[r]);
    unit.d[r] = block.d;
    unit.m[r] = block.m;
    for (int j = 0; j < 4; ++j) {
      unit.q[j][r] = pack_nibbles(8 * j, [&](int k) { return split_nibble(block.qs, k); });
    }
  }
  std::memcpy(dst, &unit, sizeof unit);
}

struct UnitQ4_K {
  uint16_t d[kGroupRows];
  uint16_t dmin[kGroupRows];
  uint8_t scale[8][kGroupRows];
  uint8_t min[8][kGroupRows];
  uint32_t q[32][kGroupRows];
};

void pack_q4_k(const std::byte* const* rows, std::byte* dst) noexcept {
  UnitQ4_K unit{};
  for (int r = 0; r < kGroupRows; ++r) {
    if (rows[r] == nullptr) continue;
    const auto block = load<BlockQ4_K>(rows[r]);
    unit.d[r] = block.d;
    unit.dmin[r] = block.dmin;
    for (int j = 0; j < 8; ++j) {
      const ScaleOffset sub = unpack_scale_offset(block.scales, j);
      unit.scale[j][r] = sub.scale;
      unit.min[j][r] = sub.offset;
    }
    const auto nibble = [&](int k) {
      const uint8_t pair = block.qs[k / 64 * 32 + k % 32];
      return static_cast<uint8_t>(k % 64 < 32 ? pair & 15 : pair >> 4);
    };
    for (int j = 0; j < 32; ++j) unit.q[j][r] = pack_nibbles(8 * j, nibble);
  }
  std::memcpy(dst, &unit, sizeof unit);
}

constexpr PackedLayout kLayouts[kPackedKinds] = {
    {PackedKind::f32, DType::F32, 1, 64, pack_elements<4>},
    {PackedKind::f16, DType::F16, 1, 32, pack_elements<2>},
    {PackedKind::bf16, DType::BF16, 1, 32, pack_elements<2>},
    {PackedKind::q8_0, DType::Q8_0, 32, sizeof(UnitQ8_0), pack_q8_0},
    {PackedKind::q4_0, DType::Q4_0, 32, sizeof(UnitQ4_0), pack_q4_0},
    {PackedKind::q4_1, DType::Q4_1, 32, sizeof(UnitQ4_1), pack_q4_1},
    {PackedKind::q4_k, DType::Q4_K, 256, sizeof(UnitQ4_K), pack_q4_k},
};

}  // namespace

const PackedLayout* packed_layout(DType dtype) noexcept {
  for (const PackedLayout& layout : kLayouts) {
    if (layout.dtype == dtype) return &layout;
  }
  return nullptr;
}

void pack_group(const PackedLayout& layout, const std::byte* rows, int64_t n_rows, int64_t n_cols,
                int64_t group, std::byte* dst) noexcept {
  const DTypeInfo& info = dtype_info(layout.dtype);
  const int64_t row_bytes = info.row_bytes(n_cols);
  const int64_t step = info.row_bytes(layout.unit_elems);
  const std::byte* at[kGroupRows];
  for (int r = 0; r < kGroupRows; ++r) {
    const int64_t row = group * kGroupRows + r;
    at[r] = row < n_rows ? rows + row * row_bytes : nullptr;
  }
  for (int64_t k = 0; k < n_cols; k += layout.unit_elems) {
    layout.pack_unit(at, dst);
    dst += layout.unit_bytes;
    for (const std::byte*& row : at) {
      if (row != nullptr) row += step;
    }
  }
}

}  // namespace bactrian
