#pragma once

#include <cstdint>
#include <span>

namespace bactrian {

/// Log-probabilities of one row of raw logits [n_vocab] under the plain softmax: those of the
/// likeliest top_ids.size() tokens, likeliest first, into top_ids and top_values, and that of
/// `token`, which is returned. Throws Error(non_finite) for a row with NaN, +inf or all -inf.
float log_probabilities(std::span<const float> logits, int32_t token, std::span<int32_t> top_ids,
                        std::span<float> top_values);

}  // namespace bactrian
