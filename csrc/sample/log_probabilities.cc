#include "sample/log_probabilities.h"

#include <cassert>

#include "sample/candidates.h"

namespace bactrian {

float log_probabilities(std::span<const float> logits, int32_t token, std::span<int32_t> top_ids,
                        std::span<float> top_values) {
  assert(top_ids.size() == top_values.size() && top_ids.size() <= logits.size());
  check_logits(logits);
  Candidates candidates;
  candidates.reset(logits);
  const Softmax softmax(candidates);
  if (!top_ids.empty()) {
    size_t i = 0;
    for (const Candidate& c : candidates.top(top_ids.size())) {
      top_ids[i] = c.id;
      top_values[i++] = static_cast<float>(softmax.log_probability(c.logit));
    }
  }
  return static_cast<float>(softmax.log_probability(logits[static_cast<size_t>(token)]));
}

}  // namespace bactrian
