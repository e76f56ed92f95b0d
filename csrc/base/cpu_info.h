#pragma once

#include <string>

namespace bactrian {

/// What the processor and the operating system together allow (CPUID and XGETBV).
struct CpuFeatures {
  bool sse42 = false;
  bool avx2 = false;  // with FMA and F16C, and the OS saves the upper halves
  bool avx512 = false;  // F, BW, DQ, VL and the OS saves the masks and the 512-bit registers
};

const CpuFeatures& cpu_features() noexcept;

/// min(affinity, cgroup quota rounded down, at least 1). `root` is where /proc and /sys are looked
/// up ("" in production, a folder of files in tests).
int default_thread_count(const std::string& root = "");

}  // namespace bactrian
