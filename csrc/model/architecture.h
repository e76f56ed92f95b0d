#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "backend/backend.h"
#include "model/arena.h"

namespace bactrian {

/// One pass of rows through a model.
struct Pass {
  Backend& backend;
  Arena& arena;
  const DeviceStep& step;
  int64_t n_rows = 0;
  /// Where keys and values go and come from; nullptr = attention inside the step alone.
  KvStore* kv = nullptr;
  /// Rows whose hidden state is wanted, ascending. The others only leave keys and values behind.
  std::span<const int32_t> wanted_rows;
  /// Called between layers; throws to interrupt the pass.
  const std::function<void()>& checkpoint;
};

/// The forward pass of one kind of model over its own weights. Immutable, shared by threads.
class Architecture {
 public:
  virtual ~Architecture() = default;

  /// Final hidden states, after the last norm, of the wanted rows: [wanted, n_embd] in pass.arena.
  virtual Matrix forward(const Pass& pass) const = 0;

  /// out [n, n_vocab] = logits of hidden states [n, n_embd].
  virtual void logits(Backend& backend, Matrix hidden, Matrix out) const = 0;

  /// The rotary embedding of cached keys, to move them to other positions.
  virtual const Rope& rope() const noexcept = 0;
};

}  // namespace bactrian
