#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "kv/paged_cache.h"
#include "model/arena.h"
#include "model/model.h"
#include "runtime/batch.h"
#include "runtime/output.h"

namespace bactrian {

struct Ubatch;

struct ContextOptions {
  int64_t n_ctx = 0;       // tokens of KV cache for all sequences together; 0 = the model's context
  int64_t n_ubatch = 512;  // rows of one forward pass
  DType dtype_k = DType::F16;
  DType dtype_v = DType::F16;
};

/// The sequences of one user of a model: KV cache, working memory and the backend that computes.
///
/// Any thread may call any member; calls take turns, except abort(), which never waits. A call from
/// inside a decode's own interrupt check throws Error(invalid_argument) instead of deadlocking.
class Context {
 public:
  /// Throws Error(invalid_argument) for options out of range or that don't suit the model.
  Context(std::shared_ptr<const Model> model, std::unique_ptr<Backend> backend,
          const ContextOptions& options);

  int64_t n_ctx() const noexcept { return n_ctx_; }
  int64_t n_pages() const noexcept { return kv_shape_.n_pages; }
  /// Size of the KV cache; the memory is taken with the first token batch.
  size_t kv_bytes() const noexcept;

  /// Runs the batch. `interrupt` is called between layers and may throw to end the decode. After
  /// any exception all sequences are as they were before the call. Throws Error(context_overflow)
  /// for a sequence or an input beyond the model's context and when pages run out,
  /// invalid_argument for token ids outside the vocabulary, unsupported for a token batch on a
  /// model that isn't causal, aborted after abort().
  Output decode(const Batch& batch, const std::function<void()>& interrupt = {});

  /// Ends the decode that runs now, if there is one.
  void abort() noexcept;

  // Sequences. Those never used, or removed, are empty.
  int64_t n_free_pages() const;
  int64_t length(int32_t sequence) const;
  std::vector<int32_t> tokens(int32_t sequence) const;
  std::vector<int32_t> sequences() const;
  void truncate(int32_t sequence, int64_t n_tokens);
  void remove(int32_t sequence);
  void fork(int32_t source, int32_t target, std::optional<int64_t> n_tokens);
  void shift(int32_t sequence, int64_t n_keep, int64_t n_discard);
  int64_t reuse_prefix(int32_t sequence, std::span<const int32_t> tokens);
  /// Throws Error(internal) naming what is inconsistent in the accounting of pages.
  void check() const;

 private:
  class Turn;
  class Running;

  void check_batch(const Batch& batch) const;
  void check_token_lengths(const Batch& batch) const;
  Output decode_tokens(const Batch& batch, const std::function<void()>& checkpoint);
  Output embed_inputs(const Batch& batch, const std::function<void()>& checkpoint);
  void add_page_table(Ubatch& ubatch) const;
  Matrix forward(const Ubatch& ubatch, const DeviceStep& step, KvStore* kv,
                 const std::function<void()>& checkpoint);
  /// Writes the rows of logits to `out` and returns the place after them.
  float* download_logits(Matrix hidden, float* out);

  std::shared_ptr<const Model> model_;
  std::unique_ptr<Backend> backend_;  // outlives what lives on it
  int64_t n_ctx_;
  int64_t n_ubatch_;
  KvShape kv_shape_;
  PagedCache cache_;
  std::unique_ptr<KvStore> store_;  // nullptr until the first token batch
  Arena arena_;
  BufferPool buffers_;

  mutable std::mutex mutex_;                    // one call at a time
  mutable std::atomic<std::thread::id> owner_;  // the thread whose turn it is
  enum class State { idle, running, aborting };
  std::atomic<State> state_{State::idle};
};

}  // namespace bactrian
