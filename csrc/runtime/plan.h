#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/backend.h"
#include "runtime/batch.h"

namespace bactrian {

/// What one forward pass of a decode does: plain data.
struct Ubatch {
  Step step;                         // without the page table
  std::vector<int32_t> sequences;    // of each span; empty in embedding batches
  std::vector<int32_t> wanted_rows;  // ascending, in the order of the batch's outputs
};

/// Cuts a token batch into ubatches of n_ubatch rows, in order, at whatever place the limit falls.
/// `length(sequence)` is the number of tokens the sequence holds before the batch.
std::vector<Ubatch> plan_tokens(const Batch& batch, int64_t n_ubatch,
                                const std::function<int32_t(int32_t sequence)>& length);

/// Packs the whole inputs of an embedding batch, in order, into ubatches of up to n_ubatch rows. An
/// input attends only within its ubatch, so one longer than n_ubatch makes a ubatch of its own.
std::vector<Ubatch> plan_inputs(const Batch& batch, int64_t n_ubatch);

}  // namespace bactrian
