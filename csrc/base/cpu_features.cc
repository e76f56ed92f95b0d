#include "base/cpu_info.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cstdint>

namespace bactrian {
namespace {

#if defined(__x86_64__)

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(uint32_t number) noexcept {
  Leaf leaf;
  // Leaves beyond the processor's highest keep their zeros.
  __get_cpuid_count(number, 0, &leaf.eax, &leaf.ebx, &leaf.ecx, &leaf.edx);
  return leaf;
}

/// XCR0: the register files that the operating system saves. The instruction itself and not its
/// intrinsic, which needs a compiler flag that this baseline file must not have.
uint32_t saved_state() noexcept {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

constexpr bool has(uint32_t bits, uint32_t wanted) { return (bits & wanted) == wanted; }

CpuFeatures detect() noexcept {
  constexpr uint32_t kFma = 1u << 12, kSse42 = 1u << 20, kOsXsave = 1u << 27, kAvx = 1u << 28,
                     kF16c = 1u << 29;                                     // leaf 1, ecx
  constexpr uint32_t kAvx2 = 1u << 5;                                      // leaf 7, ebx
  constexpr uint32_t kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
  constexpr uint32_t kYmmState = 1u << 1 | 1u << 2;                        // XMM, YMM
  constexpr uint32_t kZmmState = kYmmState | 1u << 5 | 1u << 6 | 1u << 7;  // masks, ZMM
  const Leaf basic = cpuid(1);
  const Leaf extended = cpuid(7);
  const uint32_t saved = has(basic.ecx, kOsXsave) ? saved_state() : 0;
  CpuFeatures features;
  features.sse42 = has(basic.ecx, kSse42);
  features.avx2 =
      has(basic.ecx, kAvx | kFma | kF16c) && has(extended.ebx, kAvx2) && has(saved, kYmmState);
  features.avx512 = features.avx2 && has(extended.ebx, kAvx512) && has(saved, kZmmState);
  return features;
}

#else

CpuFeatures detect() noexcept { return {}; }

#endif

}  // namespace

const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace bactrian
