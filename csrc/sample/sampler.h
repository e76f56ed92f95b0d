#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sample/adaptive.h"
#include "sample/candidates.h"
#include "sample/chain.h"
#include "sample/history.h"
#include "sample/mirostat.h"
#include "sample/params.h"

namespace bactrian {

/// A token and its probability among those it was drawn from.
struct TokenProbability {
  int32_t id = 0;
  double p = 0.0;
};

/// Draws the tokens of one sequence: the chain of samplers and its state. A copy goes on from the
/// same state. Used by one thread at a time.
class Sampler {
 public:
  /// Throws Error(invalid_argument) naming the parameter that is wrong.
  Sampler(SamplerParams params, int32_t n_vocab);

  int32_t n_vocab() const noexcept { return n_vocab_; }
  /// The seed in use, chosen at random if the parameters have none.
  uint32_t seed() const noexcept { return seed_; }

  /// Takes tokens into the history that were not drawn here. Throws Error(invalid_argument) for
  /// one outside the vocabulary, having taken none.
  void accept(std::span<const int32_t> tokens);

  /// Throws Error(invalid_argument) unless there is a logit for each token and `allowed` is empty
  /// or has a bit for each.
  void check_sizes(std::span<const float> logits, std::span<const uint32_t> allowed) const;

  /// Draws from logits [n_vocab] and takes the token into the history. `allowed`: empty, or a bit
  /// for each token, bit i % 32 of word i / 32; the others are out before the chain begins. Throws
  /// Error(non_finite) for NaN, +inf or if no token is possible, invalid_argument for wrong sizes;
  /// then the state is as before.
  int32_t sample(std::span<const float> logits, std::span<const uint32_t> allowed = {});

  /// The candidates that were left in the last draw, likeliest first; those of probability 0 are
  /// not listed.
  std::vector<TokenProbability> probabilities() const;

 private:
  int32_t run_chain(std::span<const float> logits, std::span<const uint32_t> allowed);
  TokenProbability draw();

  std::shared_ptr<const SamplerParams> params_;
  Chain chain_;
  int32_t n_vocab_;
  uint32_t seed_;
  uint64_t n_drawn_ = 0;
  History history_;
  Mirostat mirostat_;
  AdaptiveTarget adaptive_;
  Candidates candidates_;
  std::vector<float> weights_;  // scratch of draw()
};

}  // namespace bactrian
