#include <algorithm>

#include "sample/samplers.h"

namespace bactrian {

// xtc ("exclude top choices"): with xtc_probability, drops all tokens of a probability of at least
// xtc_threshold but the least likely of them, if there are two or more and min_keep tokens remain.

bool uses_xtc(const SamplerParams& params) noexcept {
  return params.xtc_probability > 0.0 && params.xtc_threshold <= 0.5;
}

void apply_xtc(Candidates& candidates, const DrawContext& context) {
  const SamplerParams& p = context.params;
  if (candidates.size() < 2 || context.random() > p.xtc_probability) return;
  std::vector<Candidate>& list = candidates.list();
  const Softmax softmax(candidates);
  const auto last = std::ranges::find_if(
      list, [&](const Candidate& c) { return softmax.probability(c.logit) < p.xtc_threshold; });
  const auto n_drop = (last - list.begin()) - 1;
  if (n_drop < 1 || static_cast<int64_t>(list.size()) - n_drop < p.min_keep) return;
  list.erase(list.begin(), list.begin() + n_drop);
}

}  // namespace bactrian
