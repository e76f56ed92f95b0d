#include <sched.h>

#include "base/cpu_info.h"
#include "check.h"
#include "temp_folder.h"

namespace bactrian {
namespace {

constexpr const char* kMountV2 =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kMountV1 =
    "25 1 0:5 / /dev rw - devtmpfs none rw\n"
    "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 31 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

/// A folder that looks like the root of a machine with these mounts and this own group.
class Machine {
 public:
  Machine(const std::string& mounts, const std::string& groups) {
    folder_.write("proc/self/mountinfo", mounts);
    folder_.write("proc/self/cgroup", groups);
  }
  Machine& v2(const std::string& group, const std::string& limit) {
    folder_.write("sys/fs/cgroup" + group + "/cpu.max", limit + "\n");
    return *this;
  }
  Machine& v1(const std::string& group, const std::string& quota, const std::string& period) {
    const std::string path = "sys/fs/cgroup/cpu,cpuacct" + group;
    folder_.write(path + "/cpu.cfs_quota_us", quota + "\n");
    folder_.write(path + "/cpu.cfs_period_us", period + "\n");
    return *this;
  }
  int quota() const { return cgroup_cpu_quota(folder_.path()).value_or(0); }
  int threads() const { return default_thread_count(folder_.path()); }

 private:
  test::TempFolder folder_;
};

int affinity() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST(quota_of_cgroup_v2_is_rounded_down_to_at_least_one) {
  const auto quota = [](const char* limit) {
    return Machine(kMountV2, "0::/app\n").v2("/app", limit).quota();
  };
  CHECK_EQ(quota("200000 100000"), 2);
  CHECK_EQ(quota("50000 100000"), 1);
  CHECK_EQ(quota("765000 100000"), 7);
  CHECK_EQ(quota("max 100000"), 0);
  CHECK_EQ(quota("100000 0"), 0);
  CHECK_EQ(quota("nonsense"), 0);
}

TEST(quota_of_cgroup_v1) {
  const auto quota = [](const char* micros) {
    return Machine(kMountV1, "5:memory:/m\n4:cpu,cpuacct:/app\n")
        .v1("/app", micros, "100000")
        .quota();
  };
  CHECK_EQ(quota("300000"), 3);
  CHECK_EQ(quota("-1"), 0);
}

TEST(quota_of_a_group_above_counts) {
  Machine machine(kMountV2, "0::/pod/app/worker\n");
  machine.v2("/pod/app/worker", "max 100000").v2("/pod/app", "800000 100000");
  CHECK_EQ(machine.quota(), 8);
  machine.v2("/pod", "400000 100000");
  CHECK_EQ(machine.quota(), 4);
  machine.v2("", "600000 100000");
  CHECK_EQ(machine.quota(), 4);
  machine.v2("/other", "100000 100000");
  CHECK_EQ(machine.quota(), 4);
}

TEST(quota_at_the_mount_point_counts) {
  // As a container with its own cgroup namespace sees it.
  CHECK_EQ(Machine(kMountV2, "0::/\n").v2("", "300000 100000").quota(), 3);
}

TEST(quota_with_the_host_s_group_names) {
  // A v1 container without cgroup namespace: the mount shows the container's own group.
  const std::string mount =
      "34 31 0:31 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
  Machine machine(mount, "4:cpu,cpuacct:/docker/abc/inner\n");
  machine.v1("", "500000", "100000");
  CHECK_EQ(machine.quota(), 5);
  machine.v1("/inner", "200000", "100000");
  CHECK_EQ(machine.quota(), 2);
}

TEST(lower_of_both_cgroup_versions_counts) {
  Machine machine(std::string(kMountV1) + kMountV2, "4:cpu,cpuacct:/a\n0::/b\n");
  machine.v1("/a", "600000", "100000").v2("/b", "500000 100000");
  CHECK_EQ(machine.quota(), 5);
}

TEST(no_or_damaged_cgroup_files_mean_no_quota) {
  CHECK(!cgroup_cpu_quota("/nonexistent").has_value());
  CHECK_EQ(Machine("one two - cgroup2\n\n", "garbage\n:\n0::\n").quota(), 0);
  CHECK_EQ(Machine(kMountV2, "0::no-slash\n").v2("", "200000 100000").quota(), 2);
}

TEST(default_threads_are_the_lower_of_affinity_and_quota) {
  CHECK_EQ(Machine(kMountV2, "0::/\n").v2("", "50000 100000").threads(), 1);
  CHECK_EQ(Machine(kMountV2, "0::/\n").v2("", "100000000 1000").threads(), affinity());
  CHECK_EQ(default_thread_count("/nonexistent"), affinity());
  CHECK(default_thread_count() >= 1 && default_thread_count() <= affinity());
}

TEST(default_threads_follow_the_affinity_of_the_caller) {
  cpu_set_t before;
  CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const int threads = default_thread_count("/nonexistent");
  CHECK_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  CHECK_EQ(threads, 1);
}

#if defined(__x86_64__)
TEST(cpu_features_agree_with_the_compiler_s_own_detection) {
  const CpuFeatures& features = cpu_features();
  CHECK_EQ(features.sse42, __builtin_cpu_supports("sse4.2") != 0);
  // Clang's builtin does not know "f16c"; every processor with AVX2 has it.
  CHECK_EQ(features.avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  CHECK_EQ(features.avx512,
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}
#endif

}  // namespace
}  // namespace bactrian
