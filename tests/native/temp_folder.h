#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace bactrian::test {

/// A new folder for one test, removed with the object.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / "bactrian-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", {});
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

  /// Writes a file below the folder, making the folders above it, and returns its path.
  std::string write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = path_ + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
    return file.string();
  }

 private:
  std::string path_;
};

}  // namespace bactrian::test
