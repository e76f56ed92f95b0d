#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sample/candidates.h"
#include "sample/history.h"
#include "sample/params.h"
#include "sample/random.h"

namespace bactrian {

/// What samplers may look at besides the candidates.
struct DrawContext {
  const SamplerParams& params;
  const History& history;
  uint32_t seed;
  uint64_t token_index;  // tokens drawn before this one
  uint32_t step;         // place in the chain, from 1; 0 is the draw itself

  /// A number in [0, 1) for this step of this token.
  double random() const noexcept { return uniform(seed, token_index, step); }
};

using ApplySampler = void (*)(Candidates& candidates, const DrawContext& context);

/// How the token is taken from the candidates that are left.
enum class DrawKind { plain, mirostat_v1, mirostat_v2, adaptive };

struct Chain {
  std::vector<ApplySampler> steps;
  DrawKind draw = DrawKind::plain;
};

/// The steps that have an effect with these parameters. Throws Error(invalid_argument) for an
/// unknown name, listing the known ones, and for infill without its vocabulary.
Chain resolve_chain(const SamplerParams& params);

}  // namespace bactrian
