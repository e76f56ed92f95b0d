#include "gguf/split.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"

namespace bactrian {
namespace {

constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kNumberKey = "split.no";
constexpr std::string_view kTensorsKey = "split.tensors.count";
constexpr int64_t kMaxParts = 99999;  // names have five digits

std::string suffix(int64_t number, int64_t count) {
  char text[32];
  std::snprintf(text, sizeof text, "-%05d-of-%05d.gguf", static_cast<int>(number),
                static_cast<int>(count));
  return text;
}

/// The path without its suffix, if it is that of the part.
std::optional<std::string> prefix_of(const std::string& path, int64_t number, int64_t count) {
  const std::string end = suffix(number, count);
  if (!path.ends_with(end)) return std::nullopt;
  return path.substr(0, path.size() - end.size());
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Where the parts lie: beside the path as given (caches link each part to a blob with another
/// name), or beside the file that it links to.
std::optional<std::string> find_prefix(const std::string& path, int64_t count) {
  const auto given = prefix_of(path, 1, count);
  if (given && exists(*given + suffix(2, count))) return given;
  std::error_code error;
  const std::string target = std::filesystem::canonical(path, error).string();
  const auto linked = prefix_of(target, 1, count);
  if (linked && (!given || exists(*linked + suffix(2, count)))) return linked;
  return given;
}

}  // namespace

std::optional<SplitInfo> read_split_info(const Metadata& metadata) {
  const int64_t count = metadata.integer(kCountKey, 0, kMaxParts).value_or(1);
  if (count < 2) return std::nullopt;
  return SplitInfo{metadata.integer(kNumberKey, 0, count - 1).value_or(0) + 1, count};
}

std::vector<std::string> other_parts(const std::string& path, const SplitInfo& info) {
  const int64_t count = info.count;
  if (info.number != 1) {
    const auto prefix = prefix_of(path, info.number, count);
    fail(ErrorCode::invalid_argument, printable(path), ": is part ", info.number, " of ", count,
         " of a split model; load the first part: ",
         prefix ? printable(*prefix + suffix(1, count))
                : "the file whose name ends with " + suffix(1, count));
  }
  const auto prefix = find_prefix(path, count);
  if (!prefix) {
    fail(ErrorCode::bad_file, printable(path), ": is the first of ", count,
         " parts of a split model, so its name must end with ", suffix(1, count),
         " and the names of the other parts in the same way");
  }
  std::vector<std::string> paths;
  for (int64_t number = 2; number <= count; ++number) {
    paths.push_back(*prefix + suffix(number, count));
    if (!exists(paths.back())) {
      fail(ErrorCode::file_not_found, printable(path), ": missing part ", number, " of ", count,
           ": ", printable(paths.back()));
    }
  }
  return paths;
}

void check_part(const Metadata& first, const Metadata& part, const std::string& path,
                int64_t number) {
  const auto count = first.integer(kCountKey, 0, kMaxParts);
  const std::string wanted = "part " + std::to_string(number) + " of " + std::to_string(*count);
  const auto info = read_split_info(part);
  if (!info) {
    fail(ErrorCode::bad_file, printable(path), ": should be ", wanted,
         " of a split model, but is a model of its own");
  }
  if (info->count != *count || info->number != number) {
    fail(ErrorCode::bad_file, printable(path), ": should be ", wanted,
         " of a split model, but says it is part ", info->number, " of ", info->count);
  }
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const bool same_tensors =
      first.integer(kTensorsKey, 0, kMax) == part.integer(kTensorsKey, 0, kMax);
  // Later parts need not repeat these; what they do say must agree.
  const auto agrees = [&](std::string_view key) {
    const auto theirs = part.string(key);
    return !theirs || theirs == first.string(key);
  };
  if (!same_tensors || !agrees("general.architecture") || !agrees("general.name")) {
    fail(ErrorCode::bad_file, printable(path), ": is ", wanted, " of another model");
  }
}

}  // namespace bactrian
