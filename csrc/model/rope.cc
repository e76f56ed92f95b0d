#include "model/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bactrian {
namespace {

/// Weight of the unscaled frequency for each pair: 1 for pairs that turn more than beta_fast times
/// over the original context, 0 for those that turn less than beta_slow times, a ramp in between.
std::vector<double> yarn_ramp(const RopeParams& params, int n_pairs) {
  const auto pair_that_turns = [&](double rotations) {
    const double wavelength =
        static_cast<double>(params.n_ctx_original) / (rotations * 2.0 * std::numbers::pi);
    return params.n_rot * std::log(wavelength) / (2.0 * std::log(params.freq_base));
  };
  const double low = std::max(std::floor(pair_that_turns(params.beta_fast)), 0.0);
  const double high = std::min(std::ceil(pair_that_turns(params.beta_slow)), params.n_rot - 1.0);
  std::vector<double> keep(static_cast<size_t>(n_pairs));
  for (int i = 0; i < n_pairs; ++i) {
    const double ramp = std::clamp((i - low) / std::max(high - low, 0.001), 0.0, 1.0);
    keep[static_cast<size_t>(i)] = (1.0 - ramp) * params.ext_factor;
  }
  return keep;
}

}  // namespace

Rope make_rope(const RopeParams& params, RopeLayout layout, std::span<const float> freq_factors) {
  const int n_pairs = params.n_rot / 2;
  Rope rope;
  rope.layout = layout;
  rope.inv_freq.resize(static_cast<size_t>(n_pairs));
  for (int i = 0; i < n_pairs; ++i) {
    const auto at = static_cast<size_t>(i);
    rope.inv_freq[at] = std::pow(params.freq_base, -2.0 * i / params.n_rot);
    if (!freq_factors.empty()) rope.inv_freq[at] /= static_cast<double>(freq_factors[at]);
  }
  double magnitude = params.attn_factor;
  switch (params.scaling) {
    case RopeScaling::none:
      break;
    case RopeScaling::linear:
      for (double& theta : rope.inv_freq) theta /= params.factor;
      break;
    case RopeScaling::yarn: {
      const std::vector<double> keep = yarn_ramp(params, n_pairs);
      for (size_t i = 0; i < keep.size(); ++i) {
        const double theta = rope.inv_freq[i];
        rope.inv_freq[i] = theta / params.factor * (1.0 - keep[i]) + theta * keep[i];
      }
      if (params.factor > 1.0) magnitude *= 1.0 + 0.1 * std::log(params.factor);
      break;
    }
  }
  rope.magnitude = static_cast<float>(magnitude);
  return rope;
}

}  // namespace bactrian
