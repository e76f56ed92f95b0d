#pragma once

#include "sample/candidates.h"
#include "sample/params.h"

namespace bactrian {

/// Mirostat (Basu et al., "Mirostat: A Neural Text Decoding Algorithm that Directly Controls
/// Perplexity", 2020): keeps the surprise of the tokens drawn near tau, by a bound mu on it that is
/// corrected after each token.
class Mirostat {
 public:
  explicit Mirostat(const SamplerParams& params)
      : tau_(params.mirostat_tau), eta_(params.mirostat_eta), mu_(2.0 * params.mirostat_tau) {}

  /// Version 1: estimates the exponent s of Zipf's law from the likeliest 100 tokens and keeps the
  /// k likeliest, k = ((s - 1) * 2^mu / (1 - n_vocab^(1 - s)))^(1 / s).
  void filter_v1(Candidates& candidates, int32_t n_vocab) const;

  /// Version 2: drops tokens of a surprise -log2 p above mu, but not the likeliest.
  void filter_v2(Candidates& candidates) const;

  /// Learns the probability, among the candidates left, of the token that was drawn.
  void update(double p) noexcept;

 private:
  double tau_;
  double eta_;
  double mu_;
};

}  // namespace bactrian
