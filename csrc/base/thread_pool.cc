#include "base/thread_pool.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace bactrian {
namespace {

// Longer than the pauses between the regions of one forward pass, shorter than a scheduler's slice.
constexpr std::chrono::microseconds kSpinTime{40};

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

/// Returns once `word` differs from `old`: a short spin, then sleep.
template <typename T>
void wait_while_equal(const std::atomic<T>& word, T old) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (word.load(std::memory_order_acquire) != old) return;
      relax();
    }
    std::this_thread::yield();  // the awaited thread may be queued for this very processor
  } while (std::chrono::steady_clock::now() < deadline);
  word.wait(old, std::memory_order_acquire);
}

/// Number of fork() calls between the first process that made a pool and this one.
std::atomic<int> fork_depth{0};

int current_fork_depth() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_depth.fetch_add(1, std::memory_order_relaxed); });
  if (registered != 0) fail(ErrorCode::out_of_memory, "the system refused a handler for fork()");
  return fork_depth.load(std::memory_order_relaxed);
}

/// Keeps signals away from threads started in its scope, so that Ctrl-C wakes the main thread.
/// Signals of faults stay open: blocked, they would kill without a report.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t set;
    sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&set, fault);
    }
    pthread_sigmask(SIG_SETMASK, &set, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct ThreadPool::State {
  const int born_at_depth = current_fork_depth();
  std::mutex calls;
  const std::function<void(int)>* body = nullptr;  // of the region that runs; null: time to end
  alignas(64) std::atomic<uint32_t> region{0};     // counts regions; workers wait for a change
  alignas(64) std::atomic<int> running{0};         // workers still inside the region
  std::vector<std::thread> workers;

  bool forked() const noexcept {
    return fork_depth.load(std::memory_order_relaxed) != born_at_depth;
  }

  std::unique_lock<std::mutex> enter() {
    // Before the lock: in a child it may be held by a thread that does not exist there.
    if (forked()) {
      fail(ErrorCode::internal,
           "this process was forked after the context was created, and the context's threads exist "
           "only in the parent; create the context in the child process");
    }
    return std::unique_lock(calls);
  }

  void begin(const std::function<void(int)>* next) noexcept {
    body = next;
    running.store(static_cast<int>(workers.size()), std::memory_order_relaxed);
    region.fetch_add(1, std::memory_order_release);
    region.notify_all();
  }

  void finish() noexcept {
    for (int left = running.load(std::memory_order_acquire); left != 0;
         left = running.load(std::memory_order_acquire)) {
      wait_while_equal(running, left);
    }
  }

  void work(int worker) noexcept {
    for (uint32_t seen = 0;; ++seen) {
      wait_while_equal(region, seen);
      if (body == nullptr) return;
      (*body)(worker);
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) running.notify_one();
    }
  }

  void stop() {
    begin(nullptr);
    for (std::thread& thread : workers) thread.join();
  }
};

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
  if (n_threads < 1) {
    fail(ErrorCode::invalid_argument, "n_threads is ", n_threads, ", but must be at least 1");
  }
  const SignalsBlocked signals_blocked;
  State* state = state_.get();
  state->workers.reserve(static_cast<size_t>(n_threads) - 1);
  try {
    for (int worker = 1; worker < n_threads; ++worker) {
      state->workers.emplace_back([state, worker] { state->work(worker); });
    }
  } catch (const std::system_error&) {
    const size_t started = state->workers.size() + 1;
    state->stop();
    fail(ErrorCode::out_of_memory, "the system refused thread ", started + 1, " of ", n_threads,
         "; ask for fewer threads");
  }
}

ThreadPool::~ThreadPool() {
  if (state_->forked()) {
    // The threads are the parent's: neither joined nor destroyed, the child's copy is given up.
    static_cast<void>(state_.release());
    return;
  }
  state_->stop();
}

int ThreadPool::size() const noexcept { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::run(const std::function<void(int worker)>& body) {
  const auto lock = state_->enter();
  const auto checked = [&body](int worker) noexcept { body(worker); };
  if (state_->workers.empty()) return checked(0);
  const std::function<void(int)> shared = std::ref(checked);
  state_->begin(&shared);
  checked(0);
  state_->finish();
}

void ThreadPool::for_each(int64_t n_tasks,
                          const std::function<void(int64_t task, int worker)>& body) {
  std::atomic<int64_t> next{0};
  const auto take_tasks = [&](int worker) noexcept {
    for (;;) {
      const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
      if (task >= n_tasks) return;
      body(task, worker);
    }
  };
  if (n_tasks > 1) return run(std::ref(take_tasks));
  const auto lock = state_->enter();  // not worth waking anyone
  take_tasks(0);
}

}  // namespace bactrian
