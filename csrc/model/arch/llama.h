#pragma once

#include <memory>

#include "model/architecture.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace bactrian {

/// Llama 1 to 3 and what shares its shape (Mistral, SmolLM, TinyLlama, Yi): RMSNorm before each
/// block, grouped-query attention with rotary positions, a SiLU-gated feed-forward, optional
/// biases, and an output matrix of its own or tied to the token embeddings.
std::unique_ptr<Architecture> make_llama(const Hparams& hparams, WeightLoader& loader);

}  // namespace bactrian
