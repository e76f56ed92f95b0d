#include "model/arena.h"

#include <algorithm>

namespace bactrian {
namespace {

constexpr int64_t kAlignFloats = 16;          // 64 bytes
constexpr int64_t kMinBlockFloats = 1 << 18;  // 1 MiB

int64_t capacity_floats(const DeviceBuffer& buffer) noexcept {
  return static_cast<int64_t>(buffer.size_bytes() / sizeof(float));
}

}  // namespace

Matrix Arena::matrix(int64_t n_rows, int64_t n_cols) {
  const int64_t n_floats = (n_rows * n_cols + kAlignFloats - 1) / kAlignFloats * kAlignFloats;
  while (block_ < blocks_.size() && used_floats_ + n_floats > capacity_floats(*blocks_[block_])) {
    ++block_;
    used_floats_ = 0;
  }
  if (block_ == blocks_.size()) {
    const int64_t size = std::max(n_floats, kMinBlockFloats);
    blocks_.push_back(backend_.allocate(static_cast<size_t>(size) * sizeof(float)));
  }
  const Matrix out{blocks_[block_].get(), used_floats_, n_rows, n_cols, n_cols};
  used_floats_ += n_floats;
  return out;
}

void Arena::reset() {
  block_ = 0;
  used_floats_ = 0;
  if (blocks_.size() < 2) return;
  const size_t total = size_bytes();
  backend_.synchronize();  // queued ops may still use the blocks
  blocks_.clear();
  blocks_.push_back(backend_.allocate(total));
}

size_t Arena::size_bytes() const noexcept {
  size_t total = 0;
  for (const auto& block : blocks_) total += block->size_bytes();
  return total;
}

}  // namespace bactrian
