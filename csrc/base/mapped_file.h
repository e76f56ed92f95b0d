#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace bactrian {

/// A whole file, mapped read-only for as long as the object lives.
class MappedFile {
 public:
  /// Throws Error: file_not_found (missing), bad_file (a directory, empty, unreadable).
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace bactrian
