#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "check.h"
#include "runtime/context.h"
#include "tiny_model.h"

namespace bactrian {
namespace {

std::unique_ptr<Backend> make_backend() {
  return make_cpu_backend(std::make_shared<ThreadPool>(1));
}

std::shared_ptr<const Model> load(const test::TinyLlama& shape = {}) {
  const test::TempGguf file(test::tiny_llama(shape));
  return Model::load(GgufFile::open(file.path()), *make_backend());
}

/// A context that verifies its page accounting when the test ends well.
class CheckedContext {
 public:
  explicit CheckedContext(const ContextOptions& options = {}, const test::TinyLlama& shape = {})
      : context(load(shape), make_backend(), options) {}
  void finish() {
    context.check();
    for (const int32_t sequence : context.sequences()) context.remove(sequence);
    CHECK_EQ(context.n_free_pages(), context.n_pages());
    context.check();
  }
  Context context;
};

Batch token_batch(int32_t sequence, int n, LogitsRows logits = LogitsRows::last) {
  Batch batch = Batch::for_tokens();
  std::vector<int32_t> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back((i * 13 + 5) % 61);
  batch.add_tokens(sequence, tokens, logits);
  return batch;
}

std::vector<float> values(const Output& output) {
  std::vector<float> copy(static_cast<size_t>(output.n_rows * output.n_cols));
  std::copy_n(output.values.get(), copy.size(), copy.begin());
  return copy;
}

TEST(context_sizes) {
  CheckedContext c({.n_ctx = 100});
  CHECK_EQ(c.context.n_ctx(), 100);
  CHECK_EQ(c.context.n_pages(), 2);
  CHECK_EQ(c.context.kv_bytes(), size_t{2 * 2 * 64 * 2 * 8 * 4});
  CHECK_EQ(CheckedContext().context.n_ctx(), 256);
  c.finish();
}

TEST(context_options_out_of_range) {
  CHECK_ERROR(CheckedContext({.n_ctx = -1}), ErrorCode::invalid_argument, "n_ctx is -1");
  CHECK_ERROR(CheckedContext({.n_ubatch = 0}), ErrorCode::invalid_argument, "n_ubatch is 0");
  CHECK_ERROR(CheckedContext({.dtype_k = DType::Q8_0}), ErrorCode::invalid_argument, "dtype_k");
}

TEST(context_output_rows_are_where_asked) {
  CheckedContext c;
  const Output all = c.context.decode(token_batch(0, 5, LogitsRows::all));
  CHECK_EQ(all.n_rows, 5);
  CHECK_EQ(all.n_cols, 61);
  const Output last = c.context.decode(token_batch(1, 5));
  CHECK_EQ(last.n_rows, 1);
  CHECK(std::equal(last.values.get(), last.values.get() + 61, all.values.get() + 4 * 61));
  CHECK_EQ(c.context.decode(token_batch(2, 5, LogitsRows::none)).n_rows, 0);
  CHECK_EQ(c.context.decode(Batch::for_tokens()).n_rows, 0);
  c.finish();
}

TEST(context_embeddings_touch_no_sequence) {
  CheckedContext c;
  c.context.decode(token_batch(0, 70));
  const int64_t free_pages = c.context.n_free_pages();
  Batch inputs = Batch::for_embeddings(Pooling::mean);
  inputs.add_input(std::vector<int32_t>{1, 2, 3});
  const Output output = c.context.decode(inputs);
  CHECK_EQ(output.n_rows, 1);
  CHECK_EQ(output.n_cols, 32);
  CHECK_EQ(c.context.n_free_pages(), free_pages);
  CHECK(c.context.sequences() == std::vector<int32_t>{0});
  c.finish();
}

TEST(context_refuses_tokens_outside_the_vocabulary) {
  CheckedContext c;
  for (const int32_t token : {-1, 61}) {
    Batch batch = token_batch(0, 3);
    batch.add_tokens(1, std::vector<int32_t>{token}, LogitsRows::last);
    CHECK_ERROR(c.context.decode(batch), ErrorCode::invalid_argument, "vocabulary of 61");
    Batch inputs = Batch::for_embeddings(Pooling::last);
    inputs.add_input(std::vector<int32_t>{token});
    CHECK_ERROR(c.context.decode(inputs), ErrorCode::invalid_argument, "vocabulary of 61");
  }
  CHECK(c.context.sequences().empty());
  c.finish();
}

TEST(context_overflow_names_numbers_and_changes_nothing) {
  CheckedContext c({.n_ctx = 128});
  c.context.decode(token_batch(0, 60));
  // One sequence beyond the context.
  CHECK_ERROR(c.context.decode(token_batch(0, 69)), ErrorCode::context_overflow, "129");
  CHECK_EQ(c.context.length(0), 60);
  // No page left for the second of two.
  Batch batch = token_batch(0, 10);
  batch.add_tokens(1, std::vector<int32_t>(64, 3), LogitsRows::last);
  CHECK_ERROR(c.context.decode(batch), ErrorCode::context_overflow, "page");
  CHECK_EQ(c.context.length(0), 60);
  CHECK_EQ(c.context.length(1), 0);
  CHECK_EQ(c.context.n_free_pages(), 1);
  // What fits still does.
  c.context.decode(token_batch(0, 68));
  CHECK_EQ(c.context.length(0), 128);
  // An input longer than the model's context.
  Batch inputs = Batch::for_embeddings(Pooling::mean);
  inputs.add_input(std::vector<int32_t>(257, 1));
  CHECK_ERROR(c.context.decode(inputs), ErrorCode::context_overflow,
              "input 0 is too large: 257 tokens, but the model's context is 256");
  c.finish();
}

TEST(context_refuses_to_continue_text_with_an_encoder) {
  CheckedContext c({}, {.causal = false});
  CHECK_ERROR(c.context.decode(token_batch(0, 3)), ErrorCode::unsupported, "embedding batch");
  c.finish();
}

TEST(context_rolls_back_when_interrupted_anywhere) {
  CheckedContext c({.n_ubatch = 8});
  c.context.decode(token_batch(0, 20));
  const std::vector<float> expected = values(c.context.decode(token_batch(1, 30)));
  c.context.remove(1);
  // The decode below makes 4 ubatches of 2 layers: 8 checks.
  for (int stop_at = 0; stop_at < 8; ++stop_at) {
    int calls = 0;
    Batch batch = token_batch(1, 30);
    CHECK_ERROR(c.context.decode(batch,
                                 [&] {
                                   if (calls++ == stop_at) fail(ErrorCode::aborted, "stopped");
                                 }),
                ErrorCode::aborted, "stopped");
    CHECK_EQ(c.context.length(0), 20);
    CHECK_EQ(c.context.length(1), 0);
    c.context.check();
  }
  CHECK(values(c.context.decode(token_batch(1, 30))) == expected);
  c.finish();
}

TEST(context_abort_ends_only_the_running_decode) {
  CheckedContext c({.n_ubatch = 1});
  c.context.abort();  // nothing runs: no effect on the next decode
  c.context.decode(token_batch(0, 4));
  // abort() from another thread, while this one is held in its first check.
  bool first = true;
  CHECK_ERROR(c.context.decode(token_batch(0, 4),
                               [&] {
                                 if (first) std::thread([&] { c.context.abort(); }).join();
                                 first = false;
                               }),
              ErrorCode::aborted, "aborted");
  CHECK_EQ(c.context.length(0), 4);
  c.context.decode(token_batch(0, 4));
  CHECK_EQ(c.context.length(0), 8);
  c.finish();
}

TEST(context_call_from_its_own_check_is_refused) {
  CheckedContext c;
  CHECK_ERROR(c.context.decode(token_batch(0, 4), [&] { c.context.remove(0); }),
              ErrorCode::invalid_argument, "abort() only");
  CHECK_EQ(c.context.length(0), 0);
  c.finish();
}

TEST(context_calls_from_many_threads_take_turns) {
  CheckedContext c({.n_ctx = 1024, .n_ubatch = 4});
  const std::vector<float> expected = values(c.context.decode(token_batch(9, 20)));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int32_t sequence = 0; sequence < 4; ++sequence) {
    threads.emplace_back([&, sequence] {
      for (int round = 0; round < 3; ++round) {
        if (values(c.context.decode(token_batch(sequence, 20))) != expected) ++wrong;
        c.context.remove(sequence);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong.load(), 0);
  c.finish();
}

TEST(context_results_stay_as_they_are) {
  CheckedContext c;
  const Output kept = c.context.decode(token_batch(0, 5));
  const std::vector<float> before = values(kept);
  for (int i = 0; i < 3; ++i) c.context.decode(token_batch(1, 3 + i));
  CHECK(values(kept) == before);
  c.finish();
}

}  // namespace
}  // namespace bactrian
