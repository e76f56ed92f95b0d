#pragma once

#include "sample/chain.h"

// The samplers of the chain; chain.cc names them. Each rule stands in the sampler's file.

namespace bactrian {

void apply_logit_bias(Candidates& candidates, const SamplerParams& params);

bool uses_penalties(const SamplerParams& params) noexcept;
void apply_penalties(Candidates& candidates, const DrawContext& context);

bool uses_dry(const SamplerParams& params) noexcept;
void apply_dry(Candidates& candidates, const DrawContext& context);

bool uses_top_n_sigma(const SamplerParams& params) noexcept;
void apply_top_n_sigma(Candidates& candidates, const DrawContext& context);

bool uses_top_k(const SamplerParams& params) noexcept;
void apply_top_k(Candidates& candidates, const DrawContext& context);

bool uses_typical(const SamplerParams& params) noexcept;
void apply_typical(Candidates& candidates, const DrawContext& context);

bool uses_top_p(const SamplerParams& params) noexcept;
void apply_top_p(Candidates& candidates, const DrawContext& context);

bool uses_min_p(const SamplerParams& params) noexcept;
void apply_min_p(Candidates& candidates, const DrawContext& context);

bool uses_xtc(const SamplerParams& params) noexcept;
void apply_xtc(Candidates& candidates, const DrawContext& context);

bool uses_temperature(const SamplerParams& params) noexcept;
void apply_temperature(Candidates& candidates, const DrawContext& context);

void apply_infill(Candidates& candidates, const DrawContext& context);

}  // namespace bactrian
