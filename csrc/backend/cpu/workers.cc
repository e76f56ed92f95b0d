#include "backend/cpu/workers.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace bactrian {
namespace {

// Some microseconds of one thread: a few times what it takes to begin and end a region.
constexpr int64_t kWorthWaking = 64 * 1024;
// Enough pieces that the last one to finish keeps the others waiting for little.
constexpr int64_t kPiecesPerWorker = 4;

}  // namespace

Workers::Workers(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {
  scratch_.resize(static_cast<size_t>(pool_->size()));
}

void Workers::reserve_scratch(size_t n_floats) {
  for (Memory& memory : scratch_) {
    if (memory.size() < n_floats * sizeof(float)) {
      memory = Memory(n_floats * sizeof(float), "scratch of the worker threads");
    }
  }
}

void Workers::run(int64_t n_tasks, int64_t cost, const std::function<void(int64_t, int)>& body) {
  if (size() == 1 || n_tasks == 1 || cost < kWorthWaking) {
    for (int64_t task = 0; task < n_tasks; ++task) body(task, 0);
    return;
  }
  pool_->for_each(n_tasks, body);
}

void Workers::run_rows(int64_t n_rows, int64_t row_cost,
                       const std::function<void(int64_t, int64_t)>& body) {
  const int64_t n_pieces = std::min<int64_t>(n_rows, kPiecesPerWorker * size());
  run(n_pieces, n_rows * row_cost, [&](int64_t piece, int) {
    body(piece * n_rows / n_pieces, (piece + 1) * n_rows / n_pieces);
  });
}

}  // namespace bactrian
