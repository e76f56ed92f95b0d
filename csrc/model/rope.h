#pragma once

#include <span>

#include "backend/backend.h"
#include "model/hparams.h"

namespace bactrian {

/// Frequencies and magnitude of a rotary embedding (Su et al. 2021) with its scaling folded in.
///
///   base        theta_i = freq_base^(-2i / n_rot), divided by freq_factors[i] if there are any
///               (llama3 scaling comes as such factors)
///   linear      theta_i / factor
///   yarn        Peng et al. 2023, "NTK-by-parts": a ramp over i blends theta_i (fast pairs) with
///               theta_i / factor (slow pairs); magnitude 1 + 0.1 ln(factor)
///
/// attn_factor multiplies the magnitude. freq_factors: [n_rot / 2] or empty, all finite and > 0.
Rope make_rope(const RopeParams& params, RopeLayout layout, std::span<const float> freq_factors);

}  // namespace bactrian
