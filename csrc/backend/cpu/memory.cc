#include "backend/cpu/memory.h"

#include <cstdint>
#include <limits>

#include "base/error.h"

namespace bactrian {

Memory::Memory(size_t bytes, const char* purpose) : size_(bytes) {
  if (bytes <= std::numeric_limits<size_t>::max() - kAlignment) {
    // calloc leaves pages that come fresh from the system untouched; aligned_alloc could not.
    block_.reset(std::calloc(1, bytes + kAlignment));
  }
  if (block_ == nullptr) {
    fail(ErrorCode::out_of_memory, "no memory for ", purpose, ": ", bytes, " bytes are needed");
  }
  const auto address = reinterpret_cast<uintptr_t>(block_.get());
  data_ = static_cast<std::byte*>(block_.get()) + (kAlignment - address % kAlignment) % kAlignment;
}

}  // namespace bactrian
