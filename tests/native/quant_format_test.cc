#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "check.h"
#include "quant/blocks.h"
#include "quant/format.h"

namespace bactrian {
namespace {

constexpr std::array kAll = {DType::F32,  DType::F16,    DType::BF16,   DType::Q4_0,
                             DType::Q4_1, DType::Q5_0,   DType::Q5_1,   DType::Q8_0,
                             DType::Q2_K, DType::Q3_K,   DType::Q4_K,   DType::Q5_K,
                             DType::Q6_K, DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4};

std::vector<std::byte> quantized(DType dtype, const std::vector<float>& values) {
  const DTypeInfo& info = dtype_info(dtype);
  const auto n = static_cast<int64_t>(values.size());
  std::vector<std::byte> data(static_cast<size_t>(info.row_bytes(n)), std::byte{0xAA});
  format(dtype).quantize(values.data(), data.data(), n);
  return data;
}

std::vector<float> round_trip(DType dtype, const std::vector<float>& values) {
  const std::vector<std::byte> data = quantized(dtype, values);
  std::vector<float> back(values.size(), 77.0f);
  format(dtype).dequantize(data.data(), back.data(), static_cast<int64_t>(back.size()));
  return back;
}

/// Pseudo-random numbers in [-1, 1).
std::vector<float> noise(size_t n) {
  std::vector<float> values(n);
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

TEST(each_type_has_its_format) {
  for (const DType dtype : kAll) CHECK(format(dtype).dtype == dtype);
}

template <typename Block>
void check_geometry(DType dtype) {
  CHECK_EQ(dtype_info(dtype).block_elems, Block::kElems);
  CHECK_EQ(dtype_info(dtype).block_bytes, static_cast<int>(sizeof(Block)));
}

TEST(blocks_have_the_size_that_files_have) {
  check_geometry<BlockF32>(DType::F32);
  check_geometry<BlockF16>(DType::F16);
  check_geometry<BlockBF16>(DType::BF16);
  check_geometry<BlockQ4_0>(DType::Q4_0);
  check_geometry<BlockQ4_1>(DType::Q4_1);
  check_geometry<BlockQ5_0>(DType::Q5_0);
  check_geometry<BlockQ5_1>(DType::Q5_1);
  check_geometry<BlockQ8_0>(DType::Q8_0);
  check_geometry<BlockQ2_K>(DType::Q2_K);
  check_geometry<BlockQ3_K>(DType::Q3_K);
  check_geometry<BlockQ4_K>(DType::Q4_K);
  check_geometry<BlockQ5_K>(DType::Q5_K);
  check_geometry<BlockQ6_K>(DType::Q6_K);
  check_geometry<BlockIQ4_NL>(DType::IQ4_NL);
  check_geometry<BlockIQ4_XS>(DType::IQ4_XS);
  check_geometry<BlockMXFP4>(DType::MXFP4);
}

TEST(a_known_block_of_each_kind_of_packing) {
  // Q4_0: d = 2, low nibbles are the first half.
  std::array<std::byte, 18> q4_0{};
  const uint16_t two = float_to_half(2.0f);
  std::memcpy(q4_0.data(), &two, 2);
  q4_0[2] = std::byte{0xF0};
  std::array<float, 32> y;
  format(DType::Q4_0).dequantize(q4_0.data(), y.data(), 32);
  CHECK_EQ(y[0], -16.0f);
  CHECK_EQ(y[16], 14.0f);

  // MXFP4: exponent 128 is a step of 2; code 7 is 6, code 10 is -1.
  std::array<std::byte, 17> mxfp4{};
  mxfp4[0] = std::byte{128};
  mxfp4[1] = std::byte{0xA7};
  format(DType::MXFP4).dequantize(mxfp4.data(), y.data(), 32);
  CHECK_EQ(y[0], 12.0f);
  CHECK_EQ(y[16], -2.0f);
}

TEST(zeros_stay_zeros) {
  for (const DType dtype : kAll) {
    for (const float value : round_trip(dtype, std::vector<float>(512, 0.0f))) {
      CHECK_EQ(value, 0.0f);
    }
  }
}

TEST(extreme_and_constant_rows_stay_finite) {
  for (const DType dtype : kAll) {
    const bool is_half = dtype == DType::F16;  // has no larger number than 65504
    for (const float value :
         {1e-38f, -1e-38f, 1e-7f, 3.0f, -3.0f, is_half ? 6e4f : 3e38f, is_half ? -6e4f : -3e38f}) {
      for (const float back : round_trip(dtype, std::vector<float>(256, value))) {
        CHECK(std::isfinite(back));
      }
    }
  }
}

TEST(no_number_does_no_harm) {
  for (const DType dtype : kAll) {
    std::vector<float> values = noise(256);
    values[3] = NAN;
    values[70] = INFINITY;
    values[200] = -INFINITY;
    round_trip(dtype, values);  // what comes out is of no use, but nothing is undefined
  }
}

TEST(quantisation_is_deterministic) {
  for (const DType dtype : kAll) {
    CHECK(quantized(dtype, noise(1024)) == quantized(dtype, noise(1024)));
  }
}

/// The largest error of a format on noise in [-1, 1): half a step of the widest block, and what
/// rounding its scale or saturating its range adds.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return 0.0;
    case DType::F16:
      return 0x1p-12;
    case DType::BF16:
      return 0x1p-9;
    case DType::Q8_0:
      return 0.51 / 127;
    case DType::Q4_0:
      return 1.01 / 8;  // +1 needs the code 8, which there isn't
    case DType::Q5_0:
      return 1.01 / 16;
    case DType::Q4_1:
      return 0.51 * 2 / 15;
    case DType::Q5_1:
      return 0.51 * 2 / 31;
    case DType::Q2_K:
      return 0.5 * 2 / 3 + 1.5 * 2 / 3 / 15 + 0.5 / 15;
    case DType::Q3_K:
      return 1.0 / 4 + 0.5 * 4 / 4 / 32;
    case DType::Q4_K:
      return 0.5 * 2 / 15 + 7.5 * 2 / 15 / 63 + 0.5 / 63;
    case DType::Q5_K:
      return 0.5 * 2 / 31 + 15.5 * 2 / 31 / 63 + 0.5 / 63;
    case DType::Q6_K:
      return 1.0 / 32 + 0.5 * 32 / 32 / 128;
    case DType::IQ4_NL:
    case DType::IQ4_XS:
      return 15.0 / 127 + 0.02;  // from 113 to 127 on the side of the short arm
    case DType::MXFP4:
      return 1.01 * 2 / 8;  // saturates at 6 of 8
  }
  return 0.0;
}

TEST(round_trip_is_within_the_step) {
  const std::vector<float> values = noise(64 * 256);
  for (const DType dtype : kAll) {
    const std::vector<float> back = round_trip(dtype, values);
    double worst = 0.0;
    for (size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, std::fabs(static_cast<double>(back[i]) - values[i]));
    }
    if (worst > tolerance(dtype)) {
      test::fail_check(__FILE__, __LINE__,
                       std::string(dtype_info(dtype).name) + ": " + std::to_string(worst) + " > " +
                           std::to_string(tolerance(dtype)));
    }
  }
}

}  // namespace
}  // namespace bactrian
