#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "backend/cpu/memory.h"

namespace bactrian {

class ThreadPool;

/// The pool of a backend with scratch memory for each of its workers. Used by one thread at a time.
class Workers {
 public:
  explicit Workers(std::shared_ptr<ThreadPool> pool);

  int size() const noexcept { return static_cast<int>(scratch_.size()); }
  ThreadPool& pool() noexcept { return *pool_; }

  /// Gives every worker at least this much scratch. Not inside a region.
  void reserve_scratch(size_t n_floats);
  float* scratch(int worker) const noexcept {
    return scratch_[static_cast<size_t>(worker)].floats();
  }

  /// Runs body(task, worker) for all tasks; on the calling thread alone if the whole costs less
  /// than waking the others. cost: roughly the multiply-adds of all tasks together.
  void run(int64_t n_tasks, int64_t cost, const std::function<void(int64_t, int)>& body);

  /// Runs body(begin, end) over pieces of [0, n_rows); row_cost as in run().
  void run_rows(int64_t n_rows, int64_t row_cost,
                const std::function<void(int64_t, int64_t)>& body);

 private:
  std::shared_ptr<ThreadPool> pool_;
  std::vector<Memory> scratch_;
};

}  // namespace bactrian
