#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gguf/metadata.h"
#include "gguf/part.h"

namespace bactrian {

/// What the file says about being part of a split model.
struct SplitInfo {
  int64_t number;  // 1-based
  int64_t count;   // >= 2
};

/// nullopt for a whole model. Throws Error(bad_file) if the keys contradict each other.
std::optional<SplitInfo> read_split_info(const Metadata& metadata);

/// Paths of parts 2 to count, for the first part at `path` (or where that leads as a symbolic
/// link). Throws Error: invalid_argument that names the first part if `path` is a later one,
/// bad_file if the name does not follow "-00001-of-000NN.gguf", file_not_found naming a part that
/// is missing.
std::vector<std::string> other_parts(const std::string& path, const SplitInfo& info);

/// Throws Error(bad_file) unless `part` at `path` is part `number` of the model that `first`
/// begins.
void check_part(const Metadata& first, const Metadata& part, const std::string& path,
                int64_t number);

}  // namespace bactrian
