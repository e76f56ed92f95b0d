#include <algorithm>
#include <cmath>
#include <limits>

#include "sample/samplers.h"

namespace bactrian {

// typ_p: sorted by how far their information -ln p is from the entropy, tokens are kept until
// their probability exceeds p, and at least min_keep (Meister et al., "Locally Typical Sampling",
// 2022).

bool uses_typical(const SamplerParams& params) noexcept { return params.typical_p < 1.0; }

void apply_typical(Candidates& candidates, const DrawContext& context) {
  std::vector<Candidate>& list = candidates.list();
  const Softmax softmax(candidates);
  const double expected = entropy(candidates, softmax);
  struct Entry {
    double distance;
    Candidate candidate;
  };
  std::vector<Entry> entries;
  entries.reserve(list.size());
  for (const Candidate& c : list) {
    const double distance = std::fabs(-softmax.log_probability(c.logit) - expected);
    entries.push_back({distance, c});
  }
  std::ranges::stable_sort(entries, {}, &Entry::distance);
  const auto min_keep = static_cast<size_t>(context.params.min_keep);
  double sum = 0.0;
  list.clear();
  for (const Entry& entry : entries) {
    list.push_back(entry.candidate);
    sum += softmax.probability(entry.candidate.logit);
    if (sum > context.params.typical_p && list.size() >= min_keep) break;
  }
  candidates.sort();
}

}  // namespace bactrian
