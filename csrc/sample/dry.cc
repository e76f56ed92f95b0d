#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "sample/samplers.h"

namespace bactrian {
namespace {

/// Tokens before the end that a repetition may use: those after the nearest sequence breaker.
/// `recent` has the newest token first.
int64_t repeat_limit(const std::vector<int32_t>& recent,
                     const std::vector<std::vector<int32_t>>& breakers) {
  for (size_t head = 0; head < recent.size(); ++head) {
    int64_t longest = -1;  // tokens of a breaker after its first
    for (const auto& breaker : breakers) {
      const size_t n_tail = breaker.size() - 1;
      if (breaker.front() != recent[head] || n_tail > head) continue;
      // Going on from the head means going back in `recent`.
      if (std::equal(breaker.begin() + 1, breaker.end(),
                     std::make_reverse_iterator(recent.begin() + static_cast<int64_t>(head)))) {
        longest = std::max(longest, static_cast<int64_t>(n_tail));
      }
    }
    if (longest >= 0) return static_cast<int64_t>(head) - longest;
  }
  return static_cast<int64_t>(recent.size());
}

/// z[i] = length of the longest common prefix of text and text[i:]; z[0] is not used (Gusfield,
/// "Algorithms on Strings, Trees, and Sequences", 1997).
std::vector<int64_t> z_function(const std::vector<int32_t>& text) {
  const auto n = static_cast<int64_t>(text.size());
  const auto at = [&text](int64_t i) { return text[static_cast<size_t>(i)]; };
  std::vector<int64_t> z(text.size());
  int64_t left = 0;
  int64_t right = 0;  // text[left, right) equals a prefix and ends furthest
  for (int64_t i = 1; i < n; ++i) {
    int64_t length = i < right ? std::min(right - i, z[static_cast<size_t>(i - left)]) : 0;
    while (i + length < n && at(length) == at(i + length)) ++length;
    z[static_cast<size_t>(i)] = length;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
  return z;
}

}  // namespace

// DRY ("don't repeat yourself"): looks at the last dry_penalty_last_n tokens. Wherever the end of
// the text, as far back as the nearest sequence breaker, has stood before with L >= allowed_length
// equal tokens, the token that followed there loses multiplier * base^(L - allowed_length); the
// longest L of each token counts. Tokens that are breakers by themselves are exempt.

bool uses_dry(const SamplerParams& params) noexcept {
  return params.dry_multiplier > 0.0 && params.dry_base >= 1.0 && params.dry_penalty_last_n != 0;
}

void apply_dry(Candidates& candidates, const DrawContext& context) {
  const SamplerParams& p = context.params;
  const auto window = context.history.last(p.dry_penalty_last_n);
  const std::vector<int32_t> recent(window.rbegin(), window.rend());
  const int64_t allowed = p.dry_allowed_length;
  if (static_cast<int64_t>(recent.size()) <= allowed) return;
  const int64_t limit = repeat_limit(recent, p.dry_sequence_breakers);
  if (limit < allowed) return;

  std::unordered_map<int32_t, int64_t> longest;
  const std::vector<int64_t> z = z_function(recent);
  for (size_t i = 1; i < recent.size(); ++i) {
    const int64_t length = std::min(z[i], limit);
    if (length < allowed) continue;
    int64_t& best = longest[recent[i - 1]];
    best = std::max(best, length);
  }
  for (const auto& breaker : p.dry_sequence_breakers) {
    if (breaker.size() == 1) longest.erase(breaker.front());
  }
  // base^exponent must not overflow a float.
  constexpr double kLogMaxFloat = 88.7228391;
  const double max_exponent =
      p.dry_base > 1.000001 ? std::floor(kLogMaxFloat / std::log(p.dry_base)) : INFINITY;
  candidates.change_some(longest, [&](float logit, int64_t length) {
    const double exponent = std::min(static_cast<double>(length - allowed), max_exponent);
    return shifted(logit, -p.dry_multiplier * std::pow(p.dry_base, exponent));
  });
}

}  // namespace bactrian
