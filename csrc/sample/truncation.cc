#include <cmath>
#include <limits>
#include <span>

#include "sample/samplers.h"

// Filters that keep the likeliest tokens.

namespace bactrian {

// top_n_sigma: logits below max - n * sigma become -inf, sigma being the standard deviation of the
// finite logits (Tang et al., "Top-nσ: Not All Logits Are You Need", 2024).

bool uses_top_n_sigma(const SamplerParams& params) noexcept { return params.top_n_sigma > 0.0; }

void apply_top_n_sigma(Candidates& candidates, const DrawContext& context) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  double sum = 0.0;
  int64_t n = 0;
  candidates.for_each([&](int32_t, float logit) {
    if (logit == -kInfinity) return;
    sum += logit;
    ++n;
  });
  const double mean = sum / static_cast<double>(n);
  double squares = 0.0;
  candidates.for_each([&](int32_t, float logit) {
    if (logit != -kInfinity) squares += (logit - mean) * (logit - mean);
  });
  const double sigma = std::sqrt(squares / static_cast<double>(n));
  const double limit = candidates.max_logit() - context.params.top_n_sigma * sigma;
  candidates.change_all([&](float logit) { return logit < limit ? -kInfinity : logit; });
}

// top_k: the k likeliest tokens.

bool uses_top_k(const SamplerParams& params) noexcept { return params.top_k > 0; }

void apply_top_k(Candidates& candidates, const DrawContext& context) {
  const auto k = static_cast<size_t>(context.params.top_k);
  if (k < candidates.size()) candidates.keep_top(k);
}

// top_p: the smallest set of the likeliest tokens with a probability of at least p together, and
// at least min_keep (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2019).

bool uses_top_p(const SamplerParams& params) noexcept { return params.top_p < 1.0; }

void apply_top_p(Candidates& candidates, const DrawContext& context) {
  const Softmax softmax(candidates);
  const double target = context.params.top_p * softmax.total;
  const auto min_keep = static_cast<size_t>(context.params.min_keep);
  // The set is mostly small, so not all are put in order at first.
  for (const size_t n : {size_t{64}, candidates.size()}) {
    double sum = 0.0;
    size_t n_keep = 0;
    const auto best =
        n < candidates.size() ? candidates.top(n) : std::span<const Candidate>(candidates.list());
    for (const Candidate& c : best) {
      sum += softmax.weight(c.logit);
      ++n_keep;
      if (sum >= target && n_keep >= min_keep) return candidates.keep_top(n_keep);
    }
  }
}

// min_p: tokens at least min_p times as likely as the likeliest; min_keep of the likeliest if
// those are fewer (Nguyen et al., "Turning Up the Heat: Min-p Sampling", 2024).

bool uses_min_p(const SamplerParams& params) noexcept { return params.min_p > 0.0; }

void apply_min_p(Candidates& candidates, const DrawContext& context) {
  const double limit = candidates.max_logit() + std::log(context.params.min_p);
  const auto min_keep = static_cast<size_t>(context.params.min_keep);
  size_t n_above = 0;
  candidates.for_each([&](int32_t, float logit) { n_above += logit >= limit ? 1 : 0; });
  if (n_above < min_keep) {
    candidates.keep_top(min_keep);
  } else {
    candidates.keep_from(limit);
  }
}

}  // namespace bactrian
