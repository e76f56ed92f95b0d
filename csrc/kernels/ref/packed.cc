#include "base/half.h"
#include "kernels/ref/ref.h"
#include "quant/blocks.h"

// Packed kinds back to panels, element by element, straight from kernels/packed_units.h: value() is
// the k-th of row r of a unit, computed as in quant/.

namespace bactrian::ref {
namespace {

/// Field k of kBits in row r of words.
template <int kBits, size_t kWords>
int field(const uint32_t (&words)[kWords][kGroupRows], int k, int r) {
  constexpr int kPerWord = 32 / kBits;
  const uint32_t word = words[k / kPerWord][r] >> (kBits * (k % kPerWord));
  return static_cast<int>(word & ((1u << kBits) - 1));
}

float as_float(int i) { return static_cast<float>(i); }

float value(const UnitF32& u, int, int r) { return u.v[r]; }
float value(const UnitF16& u, int, int r) { return half_to_float(u.v[r]); }
float value(const UnitBF16& u, int, int r) { return bfloat16_to_float(u.v[r]); }

float value(const UnitQ4_0& u, int k, int r) {
  return half_to_float(u.d[r]) * as_float(field<4>(u.low4, k, r) - 8);
}

float value(const UnitQ4_1& u, int k, int r) {
  return half_to_float(u.d[r]) * as_float(field<4>(u.low4, k, r)) + half_to_float(u.m[r]);
}

template <typename Unit>
int code5(const Unit& u, int k, int r) {
  return field<4>(u.low4, k, r) | field<1>(u.high1, k, r) << 4;
}

float value(const UnitQ5_0& u, int k, int r) {
  return half_to_float(u.d[r]) * as_float(code5(u, k, r) - 16);
}

float value(const UnitQ5_1& u, int k, int r) {
  return half_to_float(u.d[r]) * as_float(code5(u, k, r)) + half_to_float(u.m[r]);
}

float value(const UnitQ8_0& u, int k, int r) { return half_to_float(u.d[r]) * as_float(u.q[k][r]); }

/// d s q - e m with s and m for each kSub k.
template <int kSub, typename Unit>
float scale_offset(const Unit& u, int k, int r, int q) {
  const float step = half_to_float(u.d[r]) * as_float(u.s[k / kSub][r]);
  const float offset = half_to_float(u.e[r]) * as_float(u.m[k / kSub][r]);
  return step * as_float(q) - offset;
}

/// d s q with s for each kSub k.
template <int kSub, typename Unit>
float scale_only(const Unit& u, int k, int r, int q) {
  return half_to_float(u.d[r]) * as_float(u.s[k / kSub][r]) * as_float(q);
}

float value(const UnitQ2_K& u, int k, int r) {
  return scale_offset<16>(u, k, r, field<2>(u.low2, k, r));
}

float value(const UnitQ3_K& u, int k, int r) {
  return scale_only<16>(u, k, r, (field<2>(u.low2, k, r) | field<1>(u.high1, k, r) << 2) - 4);
}

float value(const UnitQ4_K& u, int k, int r) {
  return scale_offset<32>(u, k, r, field<4>(u.low4, k, r));
}

float value(const UnitQ5_K& u, int k, int r) { return scale_offset<32>(u, k, r, code5(u, k, r)); }

float value(const UnitQ6_K& u, int k, int r) {
  return scale_only<16>(u, k, r, (field<4>(u.low4, k, r) | field<2>(u.high2, k, r) << 4) - 32);
}

float value(const UnitIQ4_NL& u, int k, int r) {
  return half_to_float(u.d[r]) * as_float(kIq4Values[field<4>(u.low4, k, r)]);
}

float value(const UnitIQ4_XS& u, int k, int r) {
  return scale_only<32>(u, k, r, kIq4Values[field<4>(u.low4, k, r)]);
}

float value(const UnitMXFP4& u, int k, int r) {
  return bfloat16_to_float(u.d[r]) * as_float(kE2m1Doubled[field<4>(u.low4, k, r)]);
}

template <typename Unit>
void expand(const std::byte* group, int64_t k_begin, int64_t n_k, float* panel) noexcept {
  const auto* const units = reinterpret_cast<const Unit*>(group);
  for (int64_t k = 0; k < n_k; ++k) {
    const Unit& unit = units[(k_begin + k) / Unit::kElems];
    const int at = static_cast<int>((k_begin + k) % Unit::kElems);
    for (int r = 0; r < kGroupRows; ++r) panel[k * kGroupRows + r] = value(unit, at, r);
  }
}

template <typename Unit>
constexpr PackedKernels kKernels = {expand<Unit>, nullptr, 0};

}  // namespace

constinit const PackedKernels* const kPacked[kPackedKinds] = {
    &kKernels<UnitF32>,  &kKernels<UnitF16>,    &kKernels<UnitBF16>,   &kKernels<UnitQ4_0>,
    &kKernels<UnitQ4_1>, &kKernels<UnitQ5_0>,   &kKernels<UnitQ5_1>,   &kKernels<UnitQ8_0>,
    &kKernels<UnitQ2_K>, &kKernels<UnitQ3_K>,   &kKernels<UnitQ4_K>,   &kKernels<UnitQ5_K>,
    &kKernels<UnitQ6_K>, &kKernels<UnitIQ4_NL>, &kKernels<UnitIQ4_XS>, &kKernels<UnitMXFP4>,
};

}  // namespace bactrian::ref
