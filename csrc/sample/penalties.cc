#include "sample/samplers.h"

namespace bactrian {

// logit_bias: added to the raw logits before everything else.
//
// penalties: of each candidate that occurs c > 0 times among the last repeat_last_n tokens, the
// logit is divided by repeat_penalty if positive and multiplied by it otherwise (Keskar et al.,
// "CTRL", 2019), then lowered by c * frequency_penalty + presence_penalty.

void apply_logit_bias(Candidates& candidates, const SamplerParams& params) {
  candidates.change_some(params.logit_bias, shifted);
}

bool uses_penalties(const SamplerParams& params) noexcept {
  return params.repeat_last_n != 0 &&
         (params.repeat_penalty != 1.0 || params.frequency_penalty != 0.0 ||
          params.presence_penalty != 0.0);
}

void apply_penalties(Candidates& candidates, const DrawContext& context) {
  const SamplerParams& p = context.params;
  candidates.change_some(context.history.counts(), [&p](float logit, int32_t count) {
    const double scaled = logit > 0.0f ? logit / p.repeat_penalty : logit * p.repeat_penalty;
    const double lowered = scaled - (count * p.frequency_penalty + p.presence_penalty);
    return shifted(logit, lowered - logit);
  });
}

}  // namespace bactrian
