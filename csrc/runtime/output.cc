#include "runtime/output.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "base/error.h"

namespace bactrian {
namespace {

constexpr size_t kMaxIdle = 4;
constexpr int64_t kMaxIdleFloats = 8 << 20;  // 32 MiB each; larger ones go back to the system

struct Buffer {
  std::unique_ptr<float[]> data;
  int64_t n_floats = 0;
};

}  // namespace

struct BufferPool::State {
  std::mutex mutex;
  std::vector<Buffer> idle;
};

BufferPool::BufferPool() : state_(std::make_shared<State>()) { state_->idle.reserve(kMaxIdle); }

std::shared_ptr<float[]> BufferPool::acquire(int64_t n_floats) {
  Buffer buffer;
  {
    const std::lock_guard lock(state_->mutex);
    auto& idle = state_->idle;
    const auto fits = std::find_if(idle.begin(), idle.end(), [&](const Buffer& candidate) {
      return candidate.n_floats >= n_floats;
    });
    if (fits != idle.end()) {
      buffer = std::move(*fits);
      idle.erase(fits);
    }
  }
  if (buffer.data == nullptr) {
    try {
      buffer.data = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(n_floats));
    } catch (const std::bad_alloc&) {
      fail(ErrorCode::out_of_memory, "can't allocate ", n_floats, " floats for the output");
    }
    buffer.n_floats = n_floats;
  }
  float* data = buffer.data.get();
  const auto give_back = [pool = std::weak_ptr<State>(state_),
                          capacity = buffer.n_floats](float* released) noexcept {
    Buffer returned{std::unique_ptr<float[]>(released), capacity};
    const auto state = pool.lock();
    if (state == nullptr || capacity > kMaxIdleFloats) return;
    const std::lock_guard lock(state->mutex);
    if (state->idle.size() == kMaxIdle) state->idle.erase(state->idle.begin());
    state->idle.push_back(std::move(returned));
  };
  buffer.data.release();
  return std::shared_ptr<float[]>(data, give_back);
}

}  // namespace bactrian
