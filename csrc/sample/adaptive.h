#pragma once

#include "sample/candidates.h"
#include "sample/params.h"

namespace bactrian {

/// adaptive_p: favours tokens of a probability near the one aimed at, which moves against the
/// exponential average of the probabilities of the tokens drawn, so that their mean stays at
/// adaptive_target.
class AdaptiveTarget {
 public:
  explicit AdaptiveTarget(const SamplerParams& params)
      : target_(params.adaptive_target),
        decay_(params.adaptive_decay),
        weighted_sum_(target_ / (1.0 - decay_)),
        total_weight_(1.0 / (1.0 - decay_)) {}

  /// logit = 5 - 10 d^2 / (1 + d) with d = |p - aim| / 0.3.
  void transform(Candidates& candidates) const;

  /// Learns the probability that the drawn token had before transform().
  void update(double p) noexcept;

 private:
  double target_;
  double decay_;
  double weighted_sum_;
  double total_weight_;
};

}  // namespace bactrian
