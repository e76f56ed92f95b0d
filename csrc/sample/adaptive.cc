#include "sample/adaptive.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bactrian {

void AdaptiveTarget::transform(Candidates& candidates) const {
  const double average = weighted_sum_ / total_weight_;
  const double aim = std::clamp(2.0 * target_ - average, 0.0, 1.0);
  const Softmax softmax(candidates);
  for (Candidate& c : candidates.list()) {
    const double p = softmax.probability(c.logit);
    const double d = std::fabs(p - aim) / 0.3;
    // A token that was impossible stays so.
    c.logit = p > 0.0 ? static_cast<float>(5.0 - 10.0 * d * d / (1.0 + d))
                      : -std::numeric_limits<float>::infinity();
  }
  candidates.sort();
}

void AdaptiveTarget::update(double p) noexcept {
  weighted_sum_ = p + decay_ * weighted_sum_;
  total_weight_ = 1.0 + decay_ * total_weight_;
}

}  // namespace bactrian
