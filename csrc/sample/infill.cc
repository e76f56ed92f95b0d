#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_set>

#include "sample/samplers.h"

namespace bactrian {
namespace {

struct Merged {
  Candidate candidate;
  double p;
  bool is_end;
};

/// Adds the probabilities of tokens of which one begins the other; the likelier one stays.
void merge_prefixes(std::vector<Merged>& tokens, const InfillVocab& vocab) {
  const auto text = [&vocab](const Merged& m) -> const std::string& {
    return vocab.token_bytes[static_cast<size_t>(m.candidate.id)];
  };
  for (Merged& shorter : tokens) {
    if (text(shorter).empty()) continue;
    for (Merged& longer : tokens) {
      if (shorter.p == 0.0) break;
      if (&longer == &shorter || longer.p == 0.0 || !text(longer).starts_with(text(shorter))) {
        continue;
      }
      Merged& kept = longer.p > shorter.p ? longer : shorter;
      Merged& gone = &kept == &longer ? shorter : longer;
      kept.p += gone.p;
      gone.p = 0.0;
    }
  }
}

}  // namespace

// infill: for filling gaps in a text. If the end tokens together are more than a third as likely
// as an even share of the rest, only they stay. Otherwise tokens that begin with one another are
// merged; of the text tokens those with at least 0.2 stay, and then those with at least an even
// share 1 / (n + 1) of what is left; if there is none, the end. Considers the likeliest 1024.

void apply_infill(Candidates& candidates, const DrawContext& context) {
  constexpr size_t kMost = 1024;  // bounds the time of comparing each with each
  constexpr double kMinProbability = 0.2;
  const InfillVocab& vocab = *context.params.infill;
  const std::unordered_set<int32_t> ends(vocab.end_tokens.begin(), vocab.end_tokens.end());
  const Softmax softmax(candidates);
  const double n_candidates = static_cast<double>(candidates.size());
  double p_end = 0.0;
  double p_text = 0.0;
  candidates.for_each([&](int32_t id, float logit) {
    (ends.contains(id) ? p_end : p_text) += softmax.probability(logit);
  });
  std::vector<Candidate>& list = candidates.list();
  if (3.0 * p_end * n_candidates > p_text) {
    std::erase_if(list, [&](const Candidate& c) { return !ends.contains(c.id); });
    return;
  }

  std::vector<Merged> tokens;
  for (const Candidate& c : candidates.top(kMost)) {
    tokens.push_back({c, softmax.probability(c.logit), ends.contains(c.id)});
  }
  merge_prefixes(tokens, vocab);
  const auto drop_below = [&tokens](double limit) {
    std::erase_if(tokens, [&](const Merged& m) { return !m.is_end && m.p < limit; });
  };
  drop_below(kMinProbability);
  const auto n_text = std::ranges::count_if(tokens, [](const Merged& m) { return !m.is_end; });
  list.clear();
  if (n_text == 0) {
    list.push_back({vocab.end_tokens.front(), 0.0f});
    return;
  }
  double sum = 0.0;
  for (const Merged& m : tokens) sum += m.p;
  drop_below(sum / static_cast<double>(n_text + 1));
  for (const Merged& m : tokens) {
    if (m.p > 0.0) list.push_back({m.candidate.id, static_cast<float>(std::log(m.p))});
  }
  candidates.sort();
}

}  // namespace bactrian
