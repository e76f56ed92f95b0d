#pragma once

#include <cstdint>
#include <map>

#include "backend/backend.h"
#include "kv/paged_cache.h"
#include "runtime/batch.h"

namespace bactrian {

/// The tokens of a batch, appended to their sequences ahead of the computation and taken back at
/// the end unless keep() was called: what makes a decode happen as a whole or not at all.
class Reservation {
 public:
  /// Throws Error(context_overflow) when pages run out, having changed no sequence.
  Reservation(const Batch& batch, PagedCache& cache, Backend& backend, KvStore& store);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// Tokens that a sequence of the batch held before.
  int64_t old_length(int32_t sequence) const { return old_lengths_.at(sequence); }

  /// All cells have been written: the tokens stay, and full pages can be found as prefixes.
  void keep();

 private:
  void roll_back();

  PagedCache& cache_;
  Backend& backend_;
  std::map<int32_t, int64_t> old_lengths_;
  bool kept_ = false;
};

}  // namespace bactrian
