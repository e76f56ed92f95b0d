#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace bactrian {

/// A device copy that must run before anything is written to `target`.
struct PageCopy {
  int32_t source = 0;
  int32_t target = 0;
};

/// What a shift asks of the device: first the copies, then cell by cell in order
/// target_cells[i] = source_cells[i], keys rotated by `delta` positions.
/// A cell is page * kPageTokens + index.
struct ShiftPlan {
  std::vector<PageCopy> copies;
  std::vector<int32_t> source_cells;
  std::vector<int32_t> target_cells;
  int32_t delta = 0;
};

/// The books of the KV cache: which tokens and pages each sequence has. Sequences are numbered by
/// the caller and exist while they hold tokens. Used by one thread; device work is the caller's.
///
/// A sequence's pages are its own, shared with forks of it, or shared through a common prefix. A
/// page is written only by a sequence that holds it alone and while it can't be found as a prefix;
/// otherwise the sequence gets a copy of it first.
class PagedCache {
 public:
  explicit PagedCache(int64_t n_pages) : pool_(n_pages) {}

  int64_t n_pages() const noexcept { return pool_.n_pages(); }
  int64_t n_free_pages() const noexcept { return pool_.n_free(); }

  int64_t length(int32_t sequence) const noexcept;
  std::span<const int32_t> tokens(int32_t sequence) const noexcept;
  /// Page of each kPageTokens positions, in order.
  std::span<const int32_t> pages(int32_t sequence) const noexcept;
  std::vector<int32_t> sequences() const;

  /// Appends tokens, reserving cells for their keys and values; returns the copy to make before
  /// they are written, if any. Throws Error(context_overflow) with the numbers when pages run out,
  /// having changed nothing.
  std::optional<PageCopy> extend(int32_t sequence, std::span<const int32_t> tokens);

  /// Makes the sequence's full pages findable; to be called when their cells have been written.
  /// Pages that equal a findable one are exchanged for it.
  void commit(int32_t sequence);

  /// Cuts the sequence to its first n_tokens; always possible for 0 <= n_tokens <= length.
  void truncate(int32_t sequence, int64_t n_tokens);
  void remove(int32_t sequence) { truncate(sequence, 0); }

  /// The empty sequence `target` becomes the first n_tokens of `source`, sharing its pages.
  void fork(int32_t source, int32_t target, int64_t n_tokens);

  /// Drops tokens [n_keep, n_keep + n_discard) and moves the later ones down. Throws
  /// Error(context_overflow), having changed nothing, if shared pages need copies and none is free.
  ShiftPlan shift(int32_t sequence, int64_t n_keep, int64_t n_discard);

  /// Gives an empty sequence the longest findable prefix of `tokens` in whole pages, leaving at
  /// least one token to evaluate; returns its length.
  int64_t reuse_prefix(int32_t sequence, std::span<const int32_t> tokens);

  /// Throws Error(internal) naming what is inconsistent.
  void check() const;

 private:
  struct Sequence {
    std::vector<int32_t> tokens;
    std::vector<int32_t> pages;
    /// Leading tokens whose cells hold what evaluating them from the start gives; the ones after
    /// a shift attended to other positions and must not be found as a prefix.
    int64_t n_exact = 0;
  };

  const Sequence* find(int32_t sequence) const noexcept;
  Sequence& require_length(int32_t sequence, int64_t n_tokens, const char* argument);
  void require_empty(int32_t sequence, const char* argument) const;

  PagePool pool_;
  std::map<int32_t, Sequence> sequences_;
};

}  // namespace bactrian
