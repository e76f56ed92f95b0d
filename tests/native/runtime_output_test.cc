#include <optional>

#include "check.h"
#include "runtime/output.h"

namespace bactrian {
namespace {

TEST(buffers_in_use_are_never_handed_out_again) {
  BufferPool pool;
  const auto first = pool.acquire(100);
  const auto second = pool.acquire(100);
  CHECK(first.get() != second.get());
}

TEST(buffers_let_go_are_used_again) {
  BufferPool pool;
  auto first = pool.acquire(100);
  const auto view = first;
  const float* address = first.get();
  first.reset();
  CHECK(pool.acquire(100).get() != address);  // `view` still holds it
  CHECK_EQ(view.get(), address);
}

TEST(buffer_of_the_same_size_comes_back_at_once) {
  BufferPool pool;
  const float* address = pool.acquire(100).get();
  CHECK_EQ(pool.acquire(64).get(), address);
  CHECK(pool.acquire(101) != nullptr);
}

TEST(buffers_may_outlive_their_pool) {
  std::optional<BufferPool> pool(std::in_place);
  const auto buffer = pool->acquire(8);
  pool.reset();
  buffer[7] = 1.0f;
  CHECK_EQ(buffer[7], 1.0f);
}

}  // namespace
}  // namespace bactrian
