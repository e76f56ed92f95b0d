#include "runtime/reservation.h"

namespace bactrian {

Reservation::Reservation(const Batch& batch, PagedCache& cache, Backend& backend, KvStore& store)
    : cache_(cache), backend_(backend) {
  try {
    for (const Batch::Run& run : batch.runs()) {
      old_lengths_.try_emplace(run.sequence, cache.length(run.sequence));
      const auto copy = cache.extend(run.sequence, batch.tokens_of(run));
      if (copy) backend.copy_page(store, copy->source, copy->target);
    }
  } catch (...) {
    roll_back();
    throw;
  }
}

Reservation::~Reservation() {
  if (!kept_) roll_back();
}

void Reservation::keep() {
  for (const auto& [sequence, length] : old_lengths_) cache_.commit(sequence);
  kept_ = true;
}

void Reservation::roll_back() {
  backend_.synchronize();  // what is queued still writes to pages that others may now take
  for (const auto& [sequence, length] : old_lengths_) cache_.truncate(sequence, length);
}

}  // namespace bactrian
