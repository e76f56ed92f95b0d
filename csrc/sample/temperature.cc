#include <algorithm>
#include <cmath>

#include "sample/samplers.h"

namespace bactrian {

// temperature: t <= 0 leaves the likeliest token only; otherwise logit / t. With a range r > 0 the
// temperature depends on the entropy H of the candidates, as a share h = H / ln(size) of the
// largest possible: lo + (hi - lo) * h^exponent with lo = max(0, t - r) and hi = t + r.

bool uses_temperature(const SamplerParams& params) noexcept {
  return params.temperature != 1.0 || params.dynatemp_range > 0.0;
}

void apply_temperature(Candidates& candidates, const DrawContext& context) {
  const SamplerParams& p = context.params;
  double t = p.temperature;
  if (t > 0.0 && p.dynatemp_range > 0.0) {
    if (candidates.size() < 2) return;  // no entropy to speak of, and nothing to choose
    const double low = std::max(0.0, t - p.dynatemp_range);
    const double high = t + p.dynatemp_range;
    const double largest = std::log(static_cast<double>(candidates.size()));
    const double share = std::clamp(entropy(candidates, Softmax(candidates)) / largest, 0.0, 1.0);
    t = low + (high - low) * std::pow(share, p.dynatemp_exponent);
  }
  // So low a temperature that the logits overflow is as good as zero.
  if (t <= 0.0 || !std::isfinite(static_cast<float>(candidates.max_logit() / t))) {
    return candidates.keep_top(1);
  }
  candidates.change_all([t](float logit) { return static_cast<float>(logit / t); });
}

}  // namespace bactrian
