#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/cursor.h"
#include "gguf/name_index.h"
#include "gguf/reader.h"

namespace bactrian {

/// The key/value pairs of one file. Views point into the file's bytes.
class Metadata {
 public:
  /// Bytes of the shortest key/value pair, and of memory for one.
  static constexpr size_t kMinFileBytes = sizeof(uint64_t) + 1 + sizeof(uint32_t) + 1;
  static constexpr size_t kMemoryBytes = 2 * sizeof(GgufFile::KeyValue);

  Metadata() = default;

  /// Reads n_keys pairs. Throws Error(bad_file) naming the key.
  Metadata(Cursor& in, uint64_t n_keys);

  std::span<const GgufFile::KeyValue> pairs() const noexcept { return pairs_; }
  const MetadataValue* find(std::string_view key) const noexcept;

  // The key's value, nullopt if it is absent. A value of another kind or out of range throws
  // Error(bad_file).
  std::optional<int64_t> integer(std::string_view key, int64_t min, int64_t max) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;

 private:
  template <typename T>
  std::optional<T> get(std::string_view key, const char* wanted) const;

  std::string file_;
  std::vector<GgufFile::KeyValue> pairs_;
  NameIndex index_;
};

}  // namespace bactrian
