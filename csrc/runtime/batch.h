#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/hparams.h"

namespace bactrian {

enum class BatchKind { tokens, embeddings };

/// Which of the tokens added get a row of logits.
enum class LogitsRows { none, last, all };

/// What one decode shall do. A batch is of one kind for good: either tokens that continue sequences
/// of a context and give logits, or whole inputs that give embeddings and touch no sequence.
class Batch {
 public:
  /// Consecutive tokens of one sequence, or one input.
  struct Run {
    int32_t sequence = -1;  // -1 in embedding batches
    int64_t begin = 0;      // into tokens()
    int64_t n_tokens = 0;
    LogitsRows logits = LogitsRows::none;
  };

  static Batch for_tokens() { return Batch(BatchKind::tokens, Pooling::none); }
  static Batch for_embeddings(Pooling pooling) { return Batch(BatchKind::embeddings, pooling); }

  /// Appends tokens to a sequence; the same sequence may be added again and continues.
  /// Throws Error(invalid_argument): an embedding batch, a negative sequence, no tokens.
  void add_tokens(int32_t sequence, std::span<const int32_t> tokens, LogitsRows logits);

  /// Adds one input. Throws Error(invalid_argument): a token batch, no tokens.
  void add_input(std::span<const int32_t> tokens);

  BatchKind kind() const noexcept { return kind_; }
  Pooling pooling() const noexcept { return pooling_; }
  std::span<const int32_t> tokens() const noexcept { return tokens_; }
  std::span<const Run> runs() const noexcept { return runs_; }
  std::span<const int32_t> tokens_of(const Run& run) const noexcept {
    return tokens().subspan(static_cast<size_t>(run.begin), static_cast<size_t>(run.n_tokens));
  }

  /// Rows of output: rows of logits, or inputs.
  int64_t n_outputs() const noexcept { return n_outputs_; }

 private:
  Batch(BatchKind kind, Pooling pooling) : kind_(kind), pooling_(pooling) {}
  void append(Run run, std::span<const int32_t> tokens);

  BatchKind kind_;
  Pooling pooling_;
  std::vector<int32_t> tokens_;
  std::vector<Run> runs_;
  int64_t n_outputs_ = 0;
};

}  // namespace bactrian
