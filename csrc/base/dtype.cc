#include "base/dtype.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

namespace bactrian {
namespace {

constexpr std::array kTypes = {
    DTypeInfo{DType::F32, "F32", 1, 4},           DTypeInfo{DType::F16, "F16", 1, 2},
    DTypeInfo{DType::BF16, "BF16", 1, 2},         DTypeInfo{DType::Q4_0, "Q4_0", 32, 18},
    DTypeInfo{DType::Q4_1, "Q4_1", 32, 20},       DTypeInfo{DType::Q5_0, "Q5_0", 32, 22},
    DTypeInfo{DType::Q5_1, "Q5_1", 32, 24},       DTypeInfo{DType::Q8_0, "Q8_0", 32, 34},
    DTypeInfo{DType::Q2_K, "Q2_K", 256, 84},      DTypeInfo{DType::Q3_K, "Q3_K", 256, 110},
    DTypeInfo{DType::Q4_K, "Q4_K", 256, 144},     DTypeInfo{DType::Q5_K, "Q5_K", 256, 176},
    DTypeInfo{DType::Q6_K, "Q6_K", 256, 210},     DTypeInfo{DType::IQ4_NL, "IQ4_NL", 32, 18},
    DTypeInfo{DType::IQ4_XS, "IQ4_XS", 256, 136}, DTypeInfo{DType::MXFP4, "MXFP4", 32, 17},
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

const DTypeInfo* find_dtype(uint32_t file_id) noexcept {
  for (const DTypeInfo& info : kTypes) {
    if (static_cast<uint32_t>(info.dtype) == file_id) return &info;
  }
  return nullptr;
}

const DTypeInfo* find_dtype(std::string_view name) noexcept {
  for (const DTypeInfo& info : kTypes) {
    if (std::ranges::equal(info.name, name, {}, {}, upper)) return &info;
  }
  return nullptr;
}

const DTypeInfo& dtype_info(DType dtype) noexcept {
  const DTypeInfo* info = find_dtype(static_cast<uint32_t>(dtype));
  assert(info != nullptr);
  return *info;
}

std::string_view dtype_names() noexcept {
  static const std::string names = [] {
    std::string joined;
    for (const DTypeInfo& info : kTypes) {
      if (!joined.empty()) joined += ", ";
      joined += info.name;
    }
    return joined;
  }();
  return names;
}

}  // namespace bactrian
