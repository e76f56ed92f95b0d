#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "check.h"

namespace bactrian {
namespace {

TEST(pool_runs_each_worker_once_a_region) {
  for (const int n_threads : {1, 2, 3, 8}) {
    ThreadPool pool(n_threads);
    CHECK_EQ(pool.size(), n_threads);
    // Plain ints: a region must happen entirely after the one before it.
    std::vector<int> visits(static_cast<size_t>(n_threads));
    for (int region = 1; region <= 300; ++region) {
      pool.run([&](int worker) { ++visits[static_cast<size_t>(worker)]; });
      for (const int count : visits) CHECK_EQ(count, region);
    }
  }
}

TEST(pool_caller_is_worker_zero) {
  ThreadPool pool(3);
  std::vector<std::thread::id> ids(3);
  pool.run([&](int worker) { ids[static_cast<size_t>(worker)] = std::this_thread::get_id(); });
  CHECK(ids[0] == std::this_thread::get_id());
  CHECK(ids[1] != ids[0] && ids[2] != ids[0] && ids[1] != ids[2]);
}

TEST(pool_hands_out_each_task_once) {
  ThreadPool pool(3);
  for (const int64_t n_tasks : {0, 1, 2, 3, 1000}) {
    std::vector<int> done(static_cast<size_t>(n_tasks));
    std::vector<int64_t> by_worker(3);
    pool.for_each(n_tasks, [&](int64_t task, int worker) {
      ++done[static_cast<size_t>(task)];
      ++by_worker[static_cast<size_t>(worker)];
    });
    for (const int count : done) CHECK_EQ(count, 1);
    CHECK_EQ(by_worker[0] + by_worker[1] + by_worker[2], n_tasks);
  }
  pool.for_each(-1, [](int64_t, int) { std::abort(); });
}

TEST(pool_wakes_workers_that_went_to_sleep) {
  ThreadPool pool(4);
  int total = 0;
  for (int region = 0; region < 20; ++region) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> sum{0};
    pool.run([&](int worker) { sum += worker; });
    total += sum;
  }
  CHECK_EQ(total, 20 * 6);
}

TEST(pool_waits_for_a_slow_worker) {
  ThreadPool pool(2);
  int done = 0;
  pool.run([&](int worker) {
    if (worker == 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = 1;
  });
  CHECK_EQ(done, 1);
}

TEST(pool_serialises_calls_from_several_threads) {
  ThreadPool pool(2);
  std::vector<int> visits(2);  // plain ints: regions of different callers must not overlap
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int region = 0; region < 100; ++region) {
        pool.run([&](int worker) { ++visits[static_cast<size_t>(worker)]; });
        pool.for_each(1, [&](int64_t, int worker) { ++visits[static_cast<size_t>(worker)]; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK_EQ(visits[0], 800);
  CHECK_EQ(visits[1], 400);
}

TEST(pool_ends_without_work) {
  for (int i = 0; i < 50; ++i) ThreadPool pool(3);
}

TEST(pool_refuses_fewer_than_one_thread) {
  CHECK_ERROR(ThreadPool(0), ErrorCode::invalid_argument, "n_threads is 0");
  CHECK_ERROR(ThreadPool(-3), ErrorCode::invalid_argument, "at least 1");
}

TEST(pool_workers_leave_signals_to_the_main_thread) {
  ThreadPool pool(2);
  bool blocked = false;
  bool faults_open = false;
  pool.run([&](int worker) {
    if (worker == 0) return;
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, nullptr, &set);
    blocked = sigismember(&set, SIGINT) == 1 && sigismember(&set, SIGTERM) == 1;
    faults_open = sigismember(&set, SIGSEGV) == 0;
  });
  CHECK(blocked);
  CHECK(faults_open);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  CHECK_EQ(sigismember(&own, SIGINT), 0);
}

/// What the child of a fork makes of its parent's pool; the exit code of the child.
int use_in_child(std::unique_ptr<ThreadPool>& pool) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends as a death by signal
    int code = 1;
    try {
      pool->run([](int) {});
    } catch (const Error& error) {
      const std::string message = error.what();
      code = error.code() == ErrorCode::internal &&
                     message.find("create the context in the child") != std::string::npos
                 ? 42
                 : 2;
    }
    pool.reset();
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(pool_says_that_it_did_not_survive_a_fork) {
  auto pool = std::make_unique<ThreadPool>(2);
  pool->run([](int) {});
  CHECK_EQ(use_in_child(pool), 42);
  std::atomic<int> runs{0};
  pool->run([&](int) { ++runs; });
  CHECK_EQ(runs.load(), 2);  // the parent's goes on
}

TEST(pool_forked_while_it_works_does_not_hang_the_child) {
  auto pool = std::make_unique<ThreadPool>(2);
  std::atomic<bool> running{false};
  std::atomic<bool> release{false};
  std::thread caller([&] {
    pool->run([&](int) {
      running = true;
      while (!release) std::this_thread::yield();
    });
  });
  while (!running) std::this_thread::yield();
  const int code = use_in_child(pool);
  release = true;
  caller.join();
  CHECK_EQ(code, 42);
}

}  // namespace
}  // namespace bactrian
