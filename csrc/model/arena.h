#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/backend.h"

namespace bactrian {

/// Device memory for the activations of one forward pass: a stack that grows as needed and is kept
/// for the next pass. Memory given back may be handed out again at once: a backend runs its ops in
/// order, so the earlier ones have read it by then. Used by one thread.
class Arena {
 public:
  explicit Arena(Backend& backend) : backend_(backend) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// A dense float32 matrix with undefined contents; starts at a multiple of 64 bytes.
  Matrix matrix(int64_t n_rows, int64_t n_cols);

  /// Gives everything back. If the last pass had to grow, one block takes the place of all.
  void reset();

  size_t size_bytes() const noexcept;

  /// Gives back what was taken since it was made.
  class Scope {
   public:
    explicit Scope(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_floats_) {}
    ~Scope() {
      arena_.block_ = block_;
      arena_.used_floats_ = used_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t block_;
    int64_t used_;
  };

 private:
  Backend& backend_;
  std::vector<std::shared_ptr<DeviceBuffer>> blocks_;
  size_t block_ = 0;         // the block that the next matrix is tried in
  int64_t used_floats_ = 0;  // of that block
};

}  // namespace bactrian
