#include <cmath>
#include <limits>

#include "base/half.h"
#include "check.h"

namespace bactrian {
namespace {

/// binary16 by its definition in IEEE 754, in double.
double half_value(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const int mantissa = static_cast<int>(bits & 1023);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

bool is_finite_half(uint32_t bits) { return (bits & 0x7c00) != 0x7c00; }

TEST(half_to_float_gives_every_finite_value_exactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if (!is_finite_half(bits)) continue;
    const float value = half_to_float(static_cast<uint16_t>(bits));
    CHECK_EQ(static_cast<double>(value), half_value(bits));
    CHECK_EQ(std::signbit(value), bits >= 0x8000);
  }
}

TEST(half_keeps_infinity_and_nan) {
  CHECK_EQ(half_to_float(0x7c00), std::numeric_limits<float>::infinity());
  CHECK_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(half_to_float(0x7e01)));
  CHECK_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
  CHECK_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
  CHECK(std::isnan(half_to_float(float_to_half(std::nanf("")))));
}

TEST(float_to_half_inverts_half_to_float) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    if (!is_finite_half(bits)) continue;
    CHECK_EQ(float_to_half(half_to_float(static_cast<uint16_t>(bits))), bits);
  }
}

TEST(float_to_half_rounds_to_nearest_even) {
  // Between each half and the next: the middle goes to the even one, its neighbours to the nearer.
  // The step after the largest half leads to 2^16, where infinity begins.
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto middle = static_cast<float>((half_value(bits) + half_value(bits + 1)) / 2);
    CHECK_EQ(float_to_half(middle), bits + (bits & 1));
    CHECK_EQ(float_to_half(std::nextafter(middle, 0.0f)), bits);
    CHECK_EQ(float_to_half(std::nextafter(middle, 1e9f)), bits + 1);
    CHECK_EQ(float_to_half(-middle), 0x8000 + bits + (bits & 1));
  }
  CHECK_EQ(float_to_half(1e9f), 0x7c00);
  CHECK_EQ(float_to_half(1e-30f), 0);
}

TEST(bfloat16_is_the_upper_half_of_a_float) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bfloat16_to_float(static_cast<uint16_t>(bits));
    CHECK_EQ(std::bit_cast<uint32_t>(value), bits << 16);
    if (!std::isnan(value)) CHECK_EQ(float_to_bfloat16(value), bits);
  }
}

TEST(float_to_bfloat16_rounds_to_nearest_even) {
  for (const uint32_t bits : {0x3f80u, 0x3f81u, 0x0001u, 0x8042u, 0x7f7fu}) {
    const auto value = [&](uint32_t low) { return std::bit_cast<float>((bits << 16) + low); };
    CHECK_EQ(float_to_bfloat16(value(0x7fff)), bits);
    CHECK_EQ(float_to_bfloat16(value(0x8000)), bits + (bits & 1));
    CHECK_EQ(float_to_bfloat16(value(0x8001)), bits + 1);
  }
  // The only set bits of this NaN are those that are cut off.
  CHECK(std::isnan(bfloat16_to_float(float_to_bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

}  // namespace
}  // namespace bactrian
