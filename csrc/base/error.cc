#include "base/error.h"

namespace bactrian {

const char* error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::file_not_found:
      return "file_not_found";
    case ErrorCode::bad_file:
      return "bad_file";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::context_overflow:
      return "context_overflow";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::aborted:
      return "aborted";
    case ErrorCode::non_finite:
      return "non_finite";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace bactrian
