#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/kv_page.h"

namespace bactrian {

/// The pages of a KV cache: who holds which, and which full pages can be found again by their
/// tokens. Holds page numbers and token ids only, never device memory. Used by one thread.
///
/// A page is either held (reference count > 0), cached (not held, but findable as a prefix) or
/// blank. A findable page knows its parent, the page before it in the prefix, so that a chain of
/// pages stands for a sequence of tokens from its start. A page is findable only while its parent
/// is. Blank pages are handed out first, then cached ones, the longest unused first and always
/// leaves of their chains.
class PagePool {
 public:
  static constexpr int32_t kNoPage = -1;

  explicit PagePool(int64_t n_pages);

  int64_t n_pages() const noexcept { return static_cast<int64_t>(pages_.size()); }
  /// Pages that nobody holds, cached ones included.
  int64_t n_free() const noexcept { return n_free_; }

  /// Takes a page nobody holds, with a reference count of 1; there must be one (n_free() > 0).
  int32_t take();
  void add_reference(int32_t page) noexcept { ++at(page).references; }
  /// Drops one reference; the last one leaves the page cached if findable, blank otherwise.
  void release(int32_t page);
  bool is_shared(int32_t page) const noexcept { return at(page).references > 1; }
  bool is_findable(int32_t page) const noexcept { return at(page).findable; }

  /// The findable page with these kPageTokens tokens after `parent` (kNoPage: at the start), or
  /// kNoPage.
  int32_t find(int32_t parent, std::span<const int32_t> tokens) const noexcept;
  /// Takes another reference to a findable page, held or cached.
  void adopt(int32_t page);
  /// Makes a held page findable. Its parent must be findable (or kNoPage) and no equal page may be.
  void publish(int32_t page, int32_t parent, std::span<const int32_t> tokens);
  /// Makes a page unfindable, because its contents are about to change, and with it all pages
  /// that continue it.
  void withdraw(int32_t page);

  /// Throws Error(internal) if `references`, the number of holders of each page, is not what the
  /// pool counts, or if its own books disagree.
  void check(std::span<const int32_t> references) const;

 private:
  struct Page {
    int32_t references = 0;
    bool findable = false;
    int32_t parent = kNoPage;
    uint64_t hash = 0;
    std::vector<int32_t> tokens;          // findable pages only
    std::vector<int32_t> children;        // findable pages that continue this one
    std::list<int32_t>::iterator cached;  // place in cached_, if cached
  };

  Page& at(int32_t page) noexcept { return pages_[static_cast<size_t>(page)]; }
  const Page& at(int32_t page) const noexcept { return pages_[static_cast<size_t>(page)]; }
  uint64_t hash(int32_t parent, std::span<const int32_t> tokens) const noexcept;

  std::vector<Page> pages_;
  std::vector<int32_t> blank_;  // a stack; the lowest page first
  std::list<int32_t> cached_;   // least recently used first
  std::unordered_multimap<uint64_t, int32_t> by_hash_;
  int64_t n_free_;
};

}  // namespace bactrian
