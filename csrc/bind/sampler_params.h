#pragma once

#include <pybind11/pybind11.h>

#include "sample/params.h"

namespace bactrian {

/// Sampler parameters from a mapping of names to values; what is not named keeps its default.
///
/// Numbers: those of number_params(). seed: int, or None or -1 for a random one. samplers: sequence
/// of names. logit_bias: mapping of token to number. dry_sequence_breakers: sequence of token
/// sequences. For infill, token_bytes: sequence of bytes, and end_tokens: token sequence.
///
/// Throws Error(invalid_argument) for an unknown name, listing the known ones, and for values of
/// the wrong type; ranges are the Sampler's business.
SamplerParams to_sampler_params(const pybind11::handle& mapping);

}  // namespace bactrian
