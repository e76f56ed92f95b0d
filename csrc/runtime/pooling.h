#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "model/arena.h"
#include "model/hparams.h"

namespace bactrian {

/// Rows of a step whose final hidden state the pooling needs, ascending: all (none, mean), the
/// first of each span (cls) or its last (last).
std::vector<int32_t> pooled_rows(Pooling pooling, std::span<const SequenceSpan> spans);

/// Embeddings of the step's spans from the hidden states of its pooled_rows(): [n_spans, n_embd],
/// or [T, n_embd] with pooling none. Not normalised.
Matrix pool(Pooling pooling, Backend& backend, Arena& arena, const DeviceStep& step,
            int64_t n_spans, Matrix hidden);

}  // namespace bactrian
