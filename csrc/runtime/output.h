#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/batch.h"

namespace bactrian {

/// Results of one decode. Whoever holds `values` keeps them as they are: later decodes write
/// elsewhere.
struct Output {
  BatchKind kind = BatchKind::tokens;
  std::shared_ptr<float[]> values = nullptr;  // [n_rows, n_cols], dense
  int64_t n_rows = 0;
  int64_t n_cols = 0;  // n_vocab or n_embd
  Pooling pooling = Pooling::none;
  std::vector<int64_t> input_rows = {};  // embedding batches: rows of each input, summing to n_rows
};

/// Hands out host buffers and takes them back when their last owner lets go, on any thread, so that
/// a decode loop does not fault in fresh pages at each step.
class BufferPool {
 public:
  BufferPool();

  /// Uninitialised. Throws Error(out_of_memory). May outlive the pool.
  std::shared_ptr<float[]> acquire(int64_t n_floats);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace bactrian
