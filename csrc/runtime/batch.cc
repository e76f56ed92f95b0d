#include "runtime/batch.h"

#include "base/error.h"

namespace bactrian {

void Batch::add_tokens(int32_t sequence, std::span<const int32_t> tokens, LogitsRows logits) {
  if (kind_ != BatchKind::tokens) {
    fail(ErrorCode::invalid_argument,
         "add_tokens on a batch made for embeddings: use add_input, or a token batch");
  }
  if (sequence < 0) {
    fail(ErrorCode::invalid_argument, "sequence is ", sequence, ", but must be 0 or more");
  }
  append({.sequence = sequence, .logits = logits}, tokens);
  if (logits == LogitsRows::last) n_outputs_ += 1;
  if (logits == LogitsRows::all) n_outputs_ += static_cast<int64_t>(tokens.size());
}

void Batch::add_input(std::span<const int32_t> tokens) {
  if (kind_ != BatchKind::embeddings) {
    fail(ErrorCode::invalid_argument,
         "add_input on a batch made for tokens: use add_tokens, or an embedding batch");
  }
  append({}, tokens);
  n_outputs_ += 1;
}

void Batch::append(Run run, std::span<const int32_t> tokens) {
  if (tokens.empty()) {
    fail(ErrorCode::invalid_argument, "tokens is empty, but a batch takes at least one token");
  }
  run.begin = static_cast<int64_t>(tokens_.size());
  run.n_tokens = static_cast<int64_t>(tokens.size());
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  runs_.push_back(run);
}

}  // namespace bactrian
