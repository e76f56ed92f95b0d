#include "quant/format.h"

#include <cassert>

#include "quant/formats.h"

namespace bactrian {
namespace {

constexpr const Format* kFormats[] = {
    &kF32,  &kF16,  &kBF16, &kQ4_0, &kQ4_1, &kQ5_0,   &kQ5_1,   &kQ8_0,
    &kQ2_K, &kQ3_K, &kQ4_K, &kQ5_K, &kQ6_K, &kIQ4_NL, &kIQ4_XS, &kMXFP4,
};

}  // namespace

const Format& format(DType dtype) noexcept {
  for (const Format* candidate : kFormats) {
    if (candidate->dtype == dtype) return *candidate;
  }
  assert(false);
  __builtin_unreachable();
}

}  // namespace bactrian
