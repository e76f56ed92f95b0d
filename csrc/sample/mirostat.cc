#include "sample/mirostat.h"

#include <algorithm>
#include <cmath>

namespace bactrian {

void Mirostat::filter_v1(Candidates& candidates, int32_t n_vocab) const {
  constexpr size_t kMost = 100;
  // Least squares through the origin of ln(p_i / p_(i+1)) over ln((i + 2) / (i + 1)).
  double sum_tb = 0.0;
  double sum_tt = 0.0;
  const auto best = candidates.top(kMost);
  for (size_t i = 0; i + 1 < best.size(); ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    const double b = static_cast<double>(best[i].logit) - best[i + 1].logit;
    if (std::isinf(b)) break;  // the rest is impossible
    sum_tb += t * b;
    sum_tt += t * t;
  }
  const double s = sum_tt > 0.0 ? sum_tb / sum_tt : 0.0;
  const double epsilon = s - 1.0;
  const double log_vocab = std::log(static_cast<double>(n_vocab));
  // -expm1(-x) is 1 - e^-x without loss near s = 1, where the ratio tends to 1 / ln(n_vocab).
  const double share =
      epsilon != 0.0 ? epsilon / -std::expm1(-epsilon * log_vocab) : 1.0 / log_vocab;
  const double k = std::pow(share * std::exp2(mu_), 1.0 / s);
  // Not below size: infinity, or NaN where all candidates are equal.
  const size_t size = candidates.size();
  const size_t n = k < static_cast<double>(size) ? static_cast<size_t>(k) : size;
  candidates.keep_top(std::max<size_t>(1, n));
}

void Mirostat::filter_v2(Candidates& candidates) const {
  const Softmax softmax(candidates);
  // -log2 p > mu, as a limit on the logit.
  const double limit = softmax.max + softmax.log_total - mu_ * std::log(2.0);
  candidates.keep_from(std::min(limit, static_cast<double>(softmax.max)));
}

void Mirostat::update(double p) noexcept { mu_ -= eta_ * (-std::log2(p) - tau_); }

}  // namespace bactrian
