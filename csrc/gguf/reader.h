#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/mapped_file.h"

namespace bactrian {

/// A metadata array, by element kind. Integers of all widths are widened (u64 beyond int64 is a
/// bad_file error); strings point into the mapped file.
using MetadataArray = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<bool>,
                                   std::vector<std::string_view>>;

/// A metadata value, widened the same way.
using MetadataValue = std::variant<int64_t, double, bool, std::string_view, MetadataArray>;

/// One tensor of the file: geometry checked, data inside the mapping.
struct TensorInfo {
  std::string_view name;
  DType dtype;
  std::vector<int64_t> dims;  // 1..4, fastest first, as in the file; all >= 1
  std::span<const std::byte> data;

  int64_t n_elements() const noexcept;
};

/// A GGUF model file (v2 or v3, little endian) or a set of split files, read through read-only
/// mappings. Every count, length, offset and product is checked before it is used; whatever is
/// wrong throws Error(bad_file or unsupported) naming file and key or tensor. Immutable, so any
/// thread may read it.
class GgufFile {
 public:
  /// Opens the file; for the first of a split set ("-00001-of-000NN.gguf") all of them. Throws
  /// also file_not_found (the file or a part) and invalid_argument (a later part was given).
  static std::shared_ptr<const GgufFile> open(const std::string& path);

  /// Reads a file that is already in memory and outlives the result; `name` stands for its path in
  /// errors. No split sets.
  static std::shared_ptr<const GgufFile> parse(std::span<const std::byte> bytes,
                                               const std::string& name);

  struct KeyValue {
    std::string_view key;
    MetadataValue value;
  };

  const std::string& path() const noexcept;  // the first file
  std::vector<std::string> paths() const;    // all files of the set; none for parse()
  uint32_t version() const noexcept;
  std::span<const KeyValue> metadata() const noexcept;   // of the first file, in file order
  std::span<const TensorInfo> tensors() const noexcept;  // of all files, in file order

  const MetadataValue* find(std::string_view key) const noexcept;
  const TensorInfo* find_tensor(std::string_view name) const noexcept;

  // Typed lookups: the key's value, or `fallback` if the key is absent; a value of another kind or
  // out of range throws bad_file naming the key. The require_ forms throw if it is absent.
  int64_t integer(std::string_view key, int64_t min, int64_t max, int64_t fallback) const;
  int64_t require_integer(std::string_view key, int64_t min, int64_t max) const;
  double number(std::string_view key, double fallback) const;  // integers count as numbers
  double require_number(std::string_view key) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string string(std::string_view key, std::string_view fallback) const;
  std::string require_string(std::string_view key) const;

 private:
  struct Impl;
  explicit GgufFile(std::unique_ptr<Impl> impl);

 public:
  ~GgufFile();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace bactrian
