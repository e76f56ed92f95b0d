#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace bactrian {

/// A fixed team of threads that runs one parallel region at a time; the caller is worker 0.
///
/// Workers wait for a region with a short bounded spin, then sleep. One caller at a time; calls
/// from two threads are serialised. After fork() in the child, run() throws Error(internal) that
/// says to create the context in the child: the threads did not survive the fork.
class ThreadPool {
 public:
  /// n_threads >= 1, the caller included. Throws Error: invalid_argument, or out_of_memory if the
  /// system refuses a thread.
  explicit ThreadPool(int n_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept;

  /// Runs body(worker) once on each worker, 0 <= worker < size(), and returns when all are done.
  /// body must neither throw (that ends the process) nor call the pool.
  void run(const std::function<void(int worker)>& body);

  /// Runs body(task, worker) for 0 <= task < n_tasks; workers take the next task from a counter.
  void for_each(int64_t n_tasks, const std::function<void(int64_t task, int worker)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bactrian
