#include "base/cpu_info.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace bactrian {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

/// One mounted cgroup hierarchy that can limit CPU time.
struct Hierarchy {
  bool v2;
  std::string mount_point;
  std::string mount_root;  // the group that the mount point shows
};

/// Hierarchies listed in /proc/self/mountinfo (proc(5)): "id parent dev root point options ... -
/// type source super-options".
std::vector<Hierarchy> mounted_hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const std::vector<std::string> controllers = split(dash[3], ',');
    const bool v2 = dash[1] == "cgroup2";
    const bool v1 = dash[1] == "cgroup" && std::ranges::count(controllers, "cpu") > 0;
    if (v1 || v2) found.push_back({v2, fields[4], fields[3]});
  }
  return found;
}

/// This process's group in the hierarchy, from /proc/self/cgroup (cgroups(7)): "0::/group" for v2,
/// "id:controller,...:/group" for v1.
std::string own_group(const std::string& root, bool v2) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool match =
        v2 ? controllers.empty() : std::ranges::count(split(controllers, ','), "cpu") > 0;
    if (match) return line.substr(second + 1);
  }
  return "/";
}

/// CPUs that the files in one group's folder allow.
double group_limit(const std::string& folder, bool v2) {
  // "max" (v2) does not parse as a number, -1 (v1) is no positive one: both mean unlimited.
  double quota = 0;
  double period = 0;
  if (v2) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : kUnlimited;
}

/// The lowest limit from the process's own group up to the one that the mount point shows.
double hierarchy_limit(const std::string& root, const Hierarchy& hierarchy) {
  std::string group = own_group(root, hierarchy.v2);
  // Seen from the mount point. In a container without its own cgroup namespace the group is named
  // from the host's root, and the mount shows a part of that tree.
  if (hierarchy.mount_root != "/" && group.starts_with(hierarchy.mount_root)) {
    group.erase(0, hierarchy.mount_root.size());
  }
  const std::string top = root + hierarchy.mount_point;
  double limit = group_limit(top, hierarchy.v2);
  while (group.size() > 1 && group.starts_with('/')) {
    limit = std::min(limit, group_limit(top + group, hierarchy.v2));
    group.erase(group.rfind('/'));
  }
  return limit;
}

int affinity_count() {
  // Machines may have more processors than a fixed cpu_set_t holds.
  for (int bits = CPU_SETSIZE; bits <= 1 << 20; bits *= 2) {
    std::vector<cpu_set_t> set(CPU_ALLOC_SIZE(bits) / sizeof(cpu_set_t));
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0) return CPU_COUNT_S(bytes, set.data());
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

std::optional<int> cgroup_cpu_quota(const std::string& root) {
  double limit = kUnlimited;
  for (const Hierarchy& hierarchy : mounted_hierarchies(root)) {
    limit = std::min(limit, hierarchy_limit(root, hierarchy));
  }
  if (limit > std::numeric_limits<int>::max()) return std::nullopt;
  return std::max(1, static_cast<int>(limit));
}

int default_thread_count(const std::string& root) {
  const int allowed = std::max(1, affinity_count());
  return std::min(allowed, cgroup_cpu_quota(root).value_or(allowed));
}

}  // namespace bactrian
