#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace bactrian {

/// Zeroed memory that begins at a cache line. Large blocks are only backed by the system once they
/// are touched.
class Memory {
 public:
  static constexpr size_t kAlignment = 64;

  Memory() = default;
  /// Throws Error(out_of_memory) that names the size and `purpose` ("the KV cache").
  Memory(size_t bytes, const char* purpose);

  std::byte* data() const noexcept { return data_; }
  float* floats() const noexcept { return reinterpret_cast<float*>(data_); }
  size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bactrian
