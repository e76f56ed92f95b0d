#include "kernels/packed.h"

#include <cmath>
#include <cstring>

#include "base/half.h"
#include "quant/blocks.h"

namespace bactrian {
namespace {

/// The lowest kBits of every code in words of 32 bits, for one row.
template <int kBits, size_t kWords, typename Code>
void pack_bits(uint32_t (&words)[kWords][kGroupRows], int row, const Code& code) {
  constexpr int kPerWord = 32 / kBits;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  for (size_t j = 0; j < kWords; ++j) {
    uint32_t word = 0;
    for (int i = 0; i < kPerWord; ++i) {
      const auto q = static_cast<uint32_t>(code(static_cast<int>(j) * kPerWord + i));
      word |= (q & kMask) << (kBits * i);
    }
    words[j][row] = word;
  }
}

/// Code k of 32: the low nibbles of 16 bytes hold the first half.
int nibble(const uint8_t* qs, int k) { return k < 16 ? qs[k] & 15 : qs[k - 16] >> 4; }

void pack(const BlockF32& b, int r, UnitF32& u) { u.v[r] = b.value; }
void pack(const BlockF16& b, int r, UnitF16& u) { u.v[r] = b.bits; }
void pack(const BlockBF16& b, int r, UnitBF16& u) { u.v[r] = b.bits; }

void pack(const BlockQ4_0& b, int r, UnitQ4_0& u) {
  u.d[r] = b.d;
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs, k); });
}

void pack(const BlockQ4_1& b, int r, UnitQ4_1& u) {
  u.d[r] = b.d;
  u.m[r] = b.m;
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs, k); });
}

void pack(const BlockQ5_0& b, int r, UnitQ5_0& u) {
  u.d[r] = b.d;
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs, k); });
  pack_bits<1>(u.high1, r, [&](int k) { return b.qh[k / 8] >> (k % 8); });
}

void pack(const BlockQ5_1& b, int r, UnitQ5_1& u) {
  u.d[r] = b.d;
  u.m[r] = b.m;
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs, k); });
  pack_bits<1>(u.high1, r, [&](int k) { return b.qh[k / 8] >> (k % 8); });
}

void pack(const BlockQ8_0& b, int r, UnitQ8_0& u) {
  u.d[r] = b.d;
  for (int k = 0; k < 32; ++k) u.q[k][r] = b.qs[k];
}

void pack(const BlockQ2_K& b, int r, UnitQ2_K& u) {
  u.d[r] = b.d;
  u.e[r] = b.dmin;
  for (int j = 0; j < 16; ++j) {
    u.s[j][r] = b.scales[j] & 15;
    u.m[j][r] = b.scales[j] >> 4;
  }
  pack_bits<2>(u.low2, r, [&](int k) { return b.qs[k / 128 * 32 + k % 32] >> (2 * (k / 32 % 4)); });
}

void pack(const BlockQ3_K& b, int r, UnitQ3_K& u) {
  u.d[r] = b.d;
  for (int j = 0; j < 16; ++j) {
    u.s[j][r] = static_cast<int8_t>(unpack_scale_q3_k(b.scales, j));
  }
  pack_bits<2>(u.low2, r, [&](int k) { return b.qs[k / 128 * 32 + k % 32] >> (2 * (k / 32 % 4)); });
  pack_bits<1>(u.high1, r, [&](int k) { return b.hmask[k % 32] >> (k / 32); });
}

/// Scales and offsets of Q4_K and Q5_K.
template <typename Block, typename Unit>
void pack_scales(const Block& b, int r, Unit& u) {
  u.d[r] = b.d;
  u.e[r] = b.dmin;
  for (int j = 0; j < 8; ++j) {
    const ScaleOffset sub = unpack_scale_offset(b.scales, j);
    u.s[j][r] = sub.scale;
    u.m[j][r] = sub.offset;
  }
}

void pack(const BlockQ4_K& b, int r, UnitQ4_K& u) {
  pack_scales(b, r, u);
  pack_bits<4>(u.low4, r, [&](int k) { return b.qs[k / 64 * 32 + k % 32] >> (4 * (k / 32 % 2)); });
}

void pack(const BlockQ5_K& b, int r, UnitQ5_K& u) {
  pack_scales(b, r, u);
  pack_bits<4>(u.low4, r, [&](int k) { return b.qs[k / 64 * 32 + k % 32] >> (4 * (k / 32 % 2)); });
  pack_bits<1>(u.high1, r, [&](int k) { return b.qh[k % 32] >> (k / 32); });
}

void pack(const BlockQ6_K& b, int r, UnitQ6_K& u) {
  u.d[r] = b.d;
  for (int j = 0; j < 16; ++j) u.s[j][r] = b.scales[j];
  pack_bits<4>(u.low4, r, [&](int k) { return b.ql[k / 128 * 64 + k % 64] >> (4 * (k / 64 % 2)); });
  pack_bits<2>(u.high2, r,
               [&](int k) { return b.qh[k / 128 * 32 + k % 32] >> (2 * (k / 32 % 4)); });
}

void pack(const BlockIQ4_NL& b, int r, UnitIQ4_NL& u) {
  u.d[r] = b.d;
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs, k); });
}

void pack(const BlockIQ4_XS& b, int r, UnitIQ4_XS& u) {
  u.d[r] = b.d;
  for (int j = 0; j < 8; ++j) u.s[j][r] = static_cast<int8_t>(unpack_scale_iq4_xs(b, j));
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs + k / 32 * 16, k % 32); });
}

void pack(const BlockMXFP4& b, int r, UnitMXFP4& u) {
  u.d[r] = float_to_bfloat16(std::ldexp(1.0f, b.e - 128));
  pack_bits<4>(u.low4, r, [&](int k) { return nibble(b.qs, k); });
}

template <typename Block, typename Unit>
void pack_unit(const std::byte* const* rows, std::byte* dst) noexcept {
  static_assert(sizeof(Unit) % 32 == 0 && Unit::kElems == Block::kElems);
  Unit unit{};
  for (int r = 0; r < kGroupRows; ++r) {
    if (rows[r] == nullptr) continue;
    Block block;
    std::memcpy(&block, rows[r], sizeof block);
    pack(block, r, unit);
  }
  std::memcpy(dst, &unit, sizeof unit);
}

template <typename Block, typename Unit>
constexpr PackedLayout layout(PackedKind kind, DType dtype) {
  return {kind, dtype, Unit::kElems, sizeof(Unit), pack_unit<Block, Unit>};
}

constexpr PackedLayout kLayouts[kPackedKinds] = {
    layout<BlockF32, UnitF32>(PackedKind::f32, DType::F32),
    layout<BlockF16, UnitF16>(PackedKind::f16, DType::F16),
    layout<BlockBF16, UnitBF16>(PackedKind::bf16, DType::BF16),
    layout<BlockQ4_0, UnitQ4_0>(PackedKind::q4_0, DType::Q4_0),
    layout<BlockQ4_1, UnitQ4_1>(PackedKind::q4_1, DType::Q4_1),
    layout<BlockQ5_0, UnitQ5_0>(PackedKind::q5_0, DType::Q5_0),
    layout<BlockQ5_1, UnitQ5_1>(PackedKind::q5_1, DType::Q5_1),
    layout<BlockQ8_0, UnitQ8_0>(PackedKind::q8_0, DType::Q8_0),
    layout<BlockQ2_K, UnitQ2_K>(PackedKind::q2_k, DType::Q2_K),
    layout<BlockQ3_K, UnitQ3_K>(PackedKind::q3_k, DType::Q3_K),
    layout<BlockQ4_K, UnitQ4_K>(PackedKind::q4_k, DType::Q4_K),
    layout<BlockQ5_K, UnitQ5_K>(PackedKind::q5_k, DType::Q5_K),
    layout<BlockQ6_K, UnitQ6_K>(PackedKind::q6_k, DType::Q6_K),
    layout<BlockIQ4_NL, UnitIQ4_NL>(PackedKind::iq4_nl, DType::IQ4_NL),
    layout<BlockIQ4_XS, UnitIQ4_XS>(PackedKind::iq4_xs, DType::IQ4_XS),
    layout<BlockMXFP4, UnitMXFP4>(PackedKind::mxfp4, DType::MXFP4),
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
