#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"

namespace bactrian {

/// Reads little-endian fields from the front of a file; each is checked against the end first.
/// Knows which item it is in, so that every error names file and item. Also meters the memory that
/// decoded items take, so that a hostile file can't make much of little.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, std::string_view file)
      : bytes_(bytes), file_(file), memory_left_(bytes.size() + kFreeMemory) {}

  std::string_view file() const noexcept { return file_; }
  size_t offset() const noexcept { return offset_; }
  size_t remaining() const noexcept { return bytes_.size() - offset_; }

  /// From here on errors speak of "KIND number index of count", once named of "KIND name".
  void enter(std::string_view kind, uint64_t index, uint64_t count) {
    kind_ = kind;
    index_ = index;
    count_ = count;
    name_ = {};
  }

  /// Reads the item's name, a string that must not be empty.
  std::string_view read_name() {
    const std::string_view name = read_string();
    if (name.empty()) fail_here(ErrorCode::bad_file, "has an empty name");
    name_ = name;
    return name;
  }

  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  T read() {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }

  /// u64 length and that many bytes; the view points into the file.
  std::string_view read_string() {
    const auto length = read<uint64_t>();
    return {reinterpret_cast<const char*>(take(length)), static_cast<size_t>(length)};
  }

  /// u64 count of things that take at least `file_bytes` each in the file and `memory_bytes` each
  /// once decoded. `what` names them in the error: "tensors".
  uint64_t read_count(std::string_view what, size_t file_bytes, size_t memory_bytes) {
    const auto count = read<uint64_t>();
    if (count > remaining() / file_bytes) {
      fail_here(ErrorCode::bad_file, "counts ", count, " ", what, ", but only ", remaining(),
                " bytes follow; the file is truncated or damaged");
    }
    if (count > memory_left_ / memory_bytes) {
      fail_here(ErrorCode::bad_file, "counts ", count, " ", what,
                ", more than a file of this size can sensibly hold");
    }
    memory_left_ -= count * memory_bytes;
    return count;
  }

  template <typename... Parts>
  [[noreturn]] void fail_here(ErrorCode code, const Parts&... parts) const {
    fail(code, printable(file_), ": ", item(), " ", parts...);
  }

 private:
  static constexpr size_t kFreeMemory = size_t{32} << 20;

  const std::byte* take(uint64_t n_bytes) {
    if (n_bytes > remaining()) {
      fail_here(ErrorCode::bad_file, "runs past the end of the file (", bytes_.size(),
                " bytes); the file is truncated or damaged");
    }
    const std::byte* field = bytes_.data() + offset_;
    offset_ += static_cast<size_t>(n_bytes);
    return field;
  }

  std::string item() const {
    if (!name_.empty()) return std::string(kind_) + " " + printable(name_, 128);
    if (count_ == 0) return std::string(kind_);
    return std::string(kind_) + " number " + std::to_string(index_ + 1) + " of " +
           std::to_string(count_);
  }

  std::span<const std::byte> bytes_;
  std::string_view file_;
  size_t offset_ = 0;
  size_t memory_left_;
  std::string_view kind_ = "the header";
  uint64_t index_ = 0;
  uint64_t count_ = 0;
  std::string_view name_;
};

}  // namespace bactrian
