#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "check.h"
#include "temp_folder.h"

namespace bactrian {
namespace {

TEST(mapped_file_shows_the_bytes) {
  const test::TempFolder folder;
  const MappedFile file(folder.write("a file's \"name\" é", "camel"));
  const auto bytes = file.bytes();
  CHECK_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "camel");
  CHECK(file.path().ends_with("a file's \"name\" é"));
}

TEST(mapped_file_outlives_the_name) {
  const test::TempFolder folder;
  const MappedFile file(folder.write("gone", "camel"));
  unlink(file.path().c_str());
  CHECK_EQ(static_cast<char>(file.bytes()[4]), 'l');
}

TEST(mapped_file_says_why_it_cannot_open) {
  const test::TempFolder folder;
  CHECK_ERROR(MappedFile(folder.path() + "/none"), ErrorCode::file_not_found, "none: no such file");
  CHECK_ERROR(MappedFile(folder.write("f", "x") + "/below"), ErrorCode::file_not_found, "below");
  CHECK_ERROR(MappedFile(std::string("a\0b", 3)), ErrorCode::file_not_found, "a\\x00b");
  CHECK_ERROR(MappedFile(""), ErrorCode::file_not_found, "no such file");
  CHECK_ERROR(MappedFile(folder.path()), ErrorCode::bad_file, "is a directory");
  CHECK_ERROR(MappedFile(folder.write("empty", "")), ErrorCode::bad_file, "the file is empty");
  const std::string loop = folder.path() + "/loop";
  CHECK_EQ(symlink(loop.c_str(), loop.c_str()), 0);
  CHECK_ERROR(MappedFile(loop), ErrorCode::bad_file, "loop: can't be read: ");
  CHECK_ERROR(MappedFile("/dev/null"), ErrorCode::bad_file, "is a device or pipe");
}

TEST(mapped_file_does_not_wait_for_a_pipe) {
  const test::TempFolder folder;
  const std::string pipe = folder.path() + "/pipe";
  CHECK_EQ(mkfifo(pipe.c_str(), 0600), 0);
  CHECK_ERROR(MappedFile(pipe), ErrorCode::bad_file, "is a device or pipe");
}

TEST(mapped_file_that_is_unreadable) {
  if (geteuid() == 0) return;  // root reads anything
  const test::TempFolder folder;
  const std::string path = folder.write("secret", "x");
  CHECK_EQ(chmod(path.c_str(), 0), 0);
  CHECK_ERROR(MappedFile(path), ErrorCode::bad_file, "can't be read: ");
}

}  // namespace
}  // namespace bactrian
