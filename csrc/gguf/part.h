#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gguf/metadata.h"
#include "gguf/reader.h"

namespace bactrian {

/// One GGUF file: a whole model or one part of a split one. Views point into the file's bytes.
struct Part {
  uint32_t version;
  Metadata metadata;
  std::vector<TensorInfo> tensors;
};

/// Checks and decodes all but the tensors' values. `file` names the file in errors. Throws
/// Error(bad_file or unsupported).
Part parse_part(std::span<const std::byte> bytes, std::string_view file);

}  // namespace bactrian
