#pragma once

#include <optional>
#include <string>

namespace bactrian {

/// What the processor and the operating system together allow (CPUID and XGETBV).
struct CpuFeatures {
  bool sse42 = false;
  bool avx2 = false;    // with FMA and F16C, and the OS saves the upper halves
  bool avx512 = false;  // F, BW, DQ, VL and the OS saves the masks and the 512-bit registers
};

const CpuFeatures& cpu_features() noexcept;

/// Processors that the cgroup quotas on this process leave it: the lowest of its own groups and all
/// above them (v2 cpu.max, v1 cpu.cfs_quota_us), rounded down, at least 1; nullopt if unlimited.
/// `root` is where /proc and /sys are looked up ("" in production, a folder of files in tests).
std::optional<int> cgroup_cpu_quota(const std::string& root = "");

/// min(affinity, cgroup quota), at least 1.
int default_thread_count(const std::string& root = "");

}  // namespace bactrian
