#include "runtime/context.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "runtime/plan.h"
#include "runtime/pooling.h"
#include "runtime/reservation.h"

namespace bactrian {
namespace {

constexpr int64_t kMaxContext = 1 << 28;  // tokens of cache
constexpr int64_t kMaxUbatch = 1 << 16;
constexpr int64_t kHeadRows = 256;  // rows of logits computed at a time, to bound device memory

int64_t check_range(const char* argument, int64_t value, int64_t min, int64_t max) {
  if (value < min || value > max) {
    fail(ErrorCode::invalid_argument, argument, " is ", value, ", but must lie between ", min,
         " and ", max);
  }
  return value;
}

int64_t cache_tokens(const Model& model, int64_t n_ctx) {
  check_range("n_ctx", n_ctx, 0, kMaxContext);
  return n_ctx == 0 ? model.hparams().n_ctx_max : n_ctx;
}

int64_t pages_for(int64_t n_tokens) { return (n_tokens + kPageTokens - 1) / kPageTokens; }

}  // namespace

/// Holds the mutex for one call; refuses a second call from the thread that has it.
class Context::Turn {
 public:
  explicit Turn(const Context& context) : context_(context) {
    if (context.owner_.load() == std::this_thread::get_id()) {
      fail(ErrorCode::invalid_argument,
           "this context is decoding on this thread: a signal handler may call abort() only");
    }
    context.mutex_.lock();
    context.owner_.store(std::this_thread::get_id());
  }
  ~Turn() {
    context_.owner_.store(std::thread::id());
    context_.mutex_.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const Context& context_;
};

/// The time in which abort() has an effect.
class Context::Running {
 public:
  explicit Running(std::atomic<State>& state) : state_(state) { state_.store(State::running); }
  ~Running() { state_.store(State::idle); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<State>& state_;
};

Context::Context(std::shared_ptr<const Model> model, std::unique_ptr<Backend> backend,
                 const ContextOptions& options)
    : model_(std::move(model)),
      backend_(std::move(backend)),
      n_ctx_(cache_tokens(*model_, options.n_ctx)),
      n_ubatch_(check_range("n_ubatch", options.n_ubatch, 1, kMaxUbatch)),
      kv_shape_(model_->kv_shape(pages_for(n_ctx_), options.dtype_k, options.dtype_v)),
      cache_(kv_shape_.n_pages),
      arena_(*backend_) {}

size_t Context::kv_bytes() const noexcept {
  return kv_shape_.page_bytes() * static_cast<size_t>(kv_shape_.n_pages);
}

Output Context::decode(const Batch& batch, const std::function<void()>& interrupt) {
  const Turn turn(*this);
  check_batch(batch);
  const Running running(state_);
  const auto checkpoint = [&] {
    if (state_.load(std::memory_order_relaxed) == State::aborting) {
      fail(ErrorCode::aborted, "the decode was aborted; all sequences are as they were before it");
    }
    if (interrupt) interrupt();
  };
  return batch.kind() == BatchKind::tokens ? decode_tokens(batch, checkpoint)
                                           : embed_inputs(batch, checkpoint);
}

void Context::abort() noexcept {
  State expected = State::running;
  state_.compare_exchange_strong(expected, State::aborting);
}

void Context::check_batch(const Batch& batch) const {
  const Hparams& hparams = model_->hparams();
  const auto tokens = batch.tokens();
  const auto bad = std::find_if(tokens.begin(), tokens.end(), [&](int32_t token) {
    return token < 0 || token >= hparams.n_vocab;
  });
  if (bad != tokens.end()) {
    fail(ErrorCode::invalid_argument, "token id ", *bad, " is outside the vocabulary of ",
         hparams.n_vocab);
  }
  if (batch.kind() == BatchKind::tokens) {
    if (!hparams.causal) {
      fail(ErrorCode::unsupported,
           "this model attends both ways and can't continue text: use an embedding batch");
    }
    check_token_lengths(batch);
    return;
  }
  for (size_t i = 0; i < batch.runs().size(); ++i) {
    if (batch.runs()[i].n_tokens > hparams.n_ctx_max) {
      fail(ErrorCode::context_overflow, "input ", i, " is too large: ", batch.runs()[i].n_tokens,
           " tokens, but the model's context is ", hparams.n_ctx_max);
    }
  }
}

void Context::check_token_lengths(const Batch& batch) const {
  const int64_t limit = std::min<int64_t>(model_->hparams().n_ctx_max, n_ctx_);
  std::unordered_map<int32_t, int64_t> lengths;
  for (const Batch::Run& run : batch.runs()) {
    auto [length, is_new] = lengths.try_emplace(run.sequence, 0);
    if (is_new) length->second = cache_.length(run.sequence);
    length->second += run.n_tokens;
    if (length->second > limit) {
      fail(ErrorCode::context_overflow, "sequence ", run.sequence, " would hold ", length->second,
           " tokens, which exceeds the available context size of ", limit);
    }
  }
}

Output Context::decode_tokens(const Batch& batch, const std::function<void()>& checkpoint) {
  Output output{
      .kind = BatchKind::tokens, .n_rows = batch.n_outputs(), .n_cols = model_->hparams().n_vocab};
  output.values = buffers_.acquire(output.n_rows * output.n_cols);
  if (batch.runs().empty()) return output;
  if (store_ == nullptr) store_ = backend_->make_kv_store(kv_shape_);

  Reservation reservation(batch, cache_, *backend_, *store_);
  float* out = output.values.get();
  for (Ubatch& ubatch : plan_tokens(batch, n_ubatch_, [&](int32_t sequence) {
         return static_cast<int32_t>(reservation.old_length(sequence));
       })) {
    add_page_table(ubatch);
    arena_.reset();
    const auto step = backend_->make_step(ubatch.step);
    const Matrix hidden = forward(ubatch, *step, store_.get(), checkpoint);
    out = download_logits(hidden, out);
  }
  backend_->synchronize();
  reservation.keep();
  return output;
}

Output Context::embed_inputs(const Batch& batch, const std::function<void()>& checkpoint) {
  Output output{.kind = BatchKind::embeddings,
                .n_cols = model_->hparams().n_embd,
                .pooling = batch.pooling()};
  for (const Batch::Run& run : batch.runs()) {
    output.input_rows.push_back(batch.pooling() == Pooling::none ? run.n_tokens : 1);
    output.n_rows += output.input_rows.back();
  }
  output.values = buffers_.acquire(output.n_rows * output.n_cols);

  float* out = output.values.get();
  for (const Ubatch& ubatch : plan_inputs(batch, n_ubatch_)) {
    arena_.reset();
    const auto step = backend_->make_step(ubatch.step);
    const Matrix hidden = forward(ubatch, *step, nullptr, checkpoint);
    const auto n_spans = static_cast<int64_t>(ubatch.step.spans.size());
    const Matrix pooled = pool(batch.pooling(), *backend_, arena_, *step, n_spans, hidden);
    backend_->download(pooled, out);
    out += pooled.n_rows * pooled.n_cols;
  }
  return output;
}

void Context::add_page_table(Ubatch& ubatch) const {
  Step& step = ubatch.step;
  for (size_t i = 0; i < step.spans.size(); ++i) {
    SequenceSpan& span = step.spans[i];
    const int64_t n_pages = pages_for(int64_t{span.position_begin} + span.n_rows);
    const auto pages = cache_.pages(ubatch.sequences[i]).first(static_cast<size_t>(n_pages));
    span.page_begin = static_cast<int32_t>(step.page_table.size());
    step.page_table.insert(step.page_table.end(), pages.begin(), pages.end());
  }
}

Matrix Context::forward(const Ubatch& ubatch, const DeviceStep& step, KvStore* kv,
                        const std::function<void()>& checkpoint) {
  const Pass pass{.backend = *backend_,
                  .arena = arena_,
                  .step = step,
                  .n_rows = static_cast<int64_t>(ubatch.step.tokens.size()),
                  .kv = kv,
                  .wanted_rows = ubatch.wanted_rows,
                  .checkpoint = checkpoint};
  return model_->architecture().forward(pass);
}

float* Context::download_logits(Matrix hidden, float* out) {
  const int64_t n_vocab = model_->hparams().n_vocab;
  for (int64_t begin = 0; begin < hidden.n_rows; begin += kHeadRows) {
    const Arena::Scope scope(arena_);
    const Matrix some = hidden.rows(begin, std::min(kHeadRows, hidden.n_rows - begin));
    const Matrix logits = arena_.matrix(some.n_rows, n_vocab);
    model_->architecture().logits(*backend_, some, logits);
    backend_->download(logits, out);
    out += logits.n_rows * n_vocab;
  }
  return out;
}

int64_t Context::n_free_pages() const {
  const Turn turn(*this);
  return cache_.n_free_pages();
}

int64_t Context::length(int32_t sequence) const {
  const Turn turn(*this);
  return cache_.length(sequence);
}

std::vector<int32_t> Context::tokens(int32_t sequence) const {
  const Turn turn(*this);
  const auto tokens = cache_.tokens(sequence);
  return {tokens.begin(), tokens.end()};
}

std::vector<int32_t> Context::sequences() const {
  const Turn turn(*this);
  return cache_.sequences();
}

void Context::truncate(int32_t sequence, int64_t n_tokens) {
  const Turn turn(*this);
  cache_.truncate(sequence, n_tokens);
}

void Context::remove(int32_t sequence) {
  const Turn turn(*this);
  cache_.remove(sequence);
}

void Context::fork(int32_t source, int32_t target, std::optional<int64_t> n_tokens) {
  const Turn turn(*this);
  cache_.fork(source, target, n_tokens.value_or(cache_.length(source)));
}

void Context::shift(int32_t sequence, int64_t n_keep, int64_t n_discard) {
  const Turn turn(*this);
  const ShiftPlan plan = cache_.shift(sequence, n_keep, n_discard);
  for (const PageCopy& copy : plan.copies) {
    backend_->copy_page(*store_, copy.source, copy.target);
  }
  if (plan.source_cells.empty()) return;
  backend_->move_cells(*store_, plan.source_cells, plan.target_cells, plan.delta,
                       model_->architecture().rope());
}

int64_t Context::reuse_prefix(int32_t sequence, std::span<const int32_t> tokens) {
  const Turn turn(*this);
  return cache_.reuse_prefix(sequence, tokens);
}

void Context::check() const {
  const Turn turn(*this);
  cache_.check();
}

}  // namespace bactrian
