#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/printable.h"

namespace bactrian {
namespace {

/// Closes the descriptor at the end of the scope; a mapping outlives it.
struct Descriptor {
  explicit Descriptor(int value) : fd(value) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

[[noreturn]] void fail_errno(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    fail(ErrorCode::file_not_found, printable(path), ": no such file");
  }
  fail(ErrorCode::bad_file, printable(path), ": can't be read: ", std::strerror(error));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  if (path.find('\0') != std::string::npos) fail_errno(path, ENOENT);  // open() would see less
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) fail_errno(path, errno);
  struct stat status{};
  if (fstat(file.fd, &status) != 0) fail_errno(path, errno);
  if (S_ISDIR(status.st_mode)) {
    fail(ErrorCode::bad_file, printable(path), ": is a directory, but must be a file");
  }
  if (!S_ISREG(status.st_mode)) {
    fail(ErrorCode::bad_file, printable(path), ": is a device or pipe, but must be a file");
  }
  if (status.st_size == 0) fail(ErrorCode::bad_file, printable(path), ": the file is empty");
  const auto size = static_cast<size_t>(status.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (address == MAP_FAILED) fail_errno(path, errno);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace bactrian
