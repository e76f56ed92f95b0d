#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace bactrian {

/// Kinds of failure that cross the API. Python maps each to one exception class (errors.py).
enum class ErrorCode {
  file_not_found,
  bad_file,
  unsupported,
  invalid_argument,
  context_overflow,
  out_of_memory,
  aborted,
  non_finite,
  internal,
};

/// The code's name as Python knows it, e.g. "bad_file".
const char* error_code_name(ErrorCode code) noexcept;

/// The one exception type of the engine. what() is a full sentence for the user.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Joins the parts with operator<< and throws them as an Error.
template <typename... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  throw Error(code, out.str());
}

}  // namespace bactrian
