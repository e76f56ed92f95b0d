#include <algorithm>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "check.h"
#include "poisoned_backend.h"
#include "runtime/context.h"
#include "tiny_model.h"

// Runs whole models on a backend that behaves as a device does. Bits must come out as on the CPU.

namespace bactrian {
namespace {

using MakeBackend = std::unique_ptr<Backend> (*)();

std::unique_ptr<Backend> make_cpu() { return make_cpu_backend(std::make_shared<ThreadPool>(1)); }
std::unique_ptr<Backend> make_poisoned() { return test::make_poisoned_backend(make_cpu()); }

std::vector<int32_t> tokens(int seed, int n) {
  std::vector<int32_t> out;
  for (int i = 0; i < n; ++i) out.push_back((seed * 31 + i * i * 7 + i) % 61);
  return out;
}

std::vector<float> values(const Output& output) {
  std::vector<float> copy(static_cast<size_t>(output.n_rows * output.n_cols));
  std::copy_n(output.values.get(), copy.size(), copy.begin());
  return copy;
}

/// Prefill, decode, fork, shift and embeddings of all poolings on one backend; all results in a
/// row.
std::vector<float> run_everything(const test::GgufWriter& writer, MakeBackend make) {
  const test::TempGguf file(writer);
  std::shared_ptr<const Model> model;
  {
    const auto loader = make();
    model = Model::load(GgufFile::open(file.path()), *loader);
  }
  Context context(model, make(), {.n_ctx = 1024, .n_ubatch = 24});
  std::vector<float> all;
  const auto decode = [&](const Batch& batch) {
    const std::vector<float> rows = values(context.decode(batch));
    all.insert(all.end(), rows.begin(), rows.end());
  };

  if (model->hparams().causal) {
    Batch prefill = Batch::for_tokens();
    prefill.add_tokens(0, tokens(1, 70), LogitsRows::last);
    prefill.add_tokens(1, tokens(2, 9), LogitsRows::all);
    prefill.add_tokens(2, tokens(3, 33), LogitsRows::none);
    decode(prefill);
    context.fork(0, 3, 68);
    context.shift(0, 5, 30);
    Batch step = Batch::for_tokens();
    for (const int32_t sequence : {0, 1, 2, 3}) {
      step.add_tokens(sequence, tokens(sequence, 1), LogitsRows::last);
    }
    decode(step);
    context.check();
  }
  for (const Pooling pooling : {Pooling::none, Pooling::mean, Pooling::cls, Pooling::last}) {
    Batch inputs = Batch::for_embeddings(pooling);
    for (const int n : {3, 40, 1, 17}) inputs.add_input(tokens(n, n));
    decode(inputs);
  }
  return all;
}

void check_equal_bits(const test::GgufWriter& writer) {
  const std::vector<float> expected = run_everything(writer, make_cpu);
  CHECK(!expected.empty());
  CHECK(run_everything(writer, make_poisoned) == expected);
}

TEST(poisoned_backend_runs_a_tied_model) { check_equal_bits(test::tiny_llama()); }

TEST(poisoned_backend_runs_a_model_with_biases_and_its_own_output) {
  check_equal_bits(test::tiny_llama({.tied = false, .biases = true}));
}

TEST(poisoned_backend_runs_an_encoder) { check_equal_bits(test::tiny_llama({.causal = false})); }

TEST(poisoned_backend_refuses_the_handles_of_another) {
  const auto cpu = make_cpu();
  const auto poisoned = make_poisoned();
  const auto buffer = cpu->allocate(64);
  float out = 0.0f;
  bool thrown = false;
  try {
    poisoned->download({buffer.get(), 0, 1, 1, 1}, &out);
  } catch (const std::bad_cast&) {
    thrown = true;
  }
  CHECK(thrown);
}

}  // namespace
}  // namespace bactrian
