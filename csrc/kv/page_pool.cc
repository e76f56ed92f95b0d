#include "kv/page_pool.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"

namespace bactrian {

PagePool::PagePool(int64_t n_pages) : pages_(static_cast<size_t>(n_pages)), n_free_(n_pages) {
  blank_.reserve(pages_.size());
  for (int64_t page = n_pages - 1; page >= 0; --page) blank_.push_back(static_cast<int32_t>(page));
}

int32_t PagePool::take() {
  assert(n_free_ > 0);
  if (blank_.empty()) {
    // Leaves go first, so that what stays cached can still be reached. There is one unless a page
    // is held whose parent is not; then the oldest goes together with what continues it.
    const auto leaf =
        std::ranges::find_if(cached_, [this](int32_t page) { return at(page).children.empty(); });
    withdraw(leaf != cached_.end() ? *leaf : cached_.front());
  }
  const int32_t page = blank_.back();
  blank_.pop_back();
  at(page).references = 1;
  --n_free_;
  return page;
}

void PagePool::release(int32_t page) {
  Page& p = at(page);
  assert(p.references > 0);
  if (--p.references > 0) return;
  ++n_free_;
  if (p.findable) {
    p.cached = cached_.insert(cached_.end(), page);
  } else {
    blank_.push_back(page);
  }
}

int32_t PagePool::find(int32_t parent, std::span<const int32_t> tokens) const noexcept {
  const auto [begin, end] = by_hash_.equal_range(hash(parent, tokens));
  for (auto it = begin; it != end; ++it) {
    const Page& p = at(it->second);
    if (p.parent == parent && std::ranges::equal(p.tokens, tokens)) return it->second;
  }
  return kNoPage;
}

void PagePool::adopt(int32_t page) {
  Page& p = at(page);
  assert(p.findable);
  if (p.references++ > 0) return;
  cached_.erase(p.cached);
  --n_free_;
}

void PagePool::publish(int32_t page, int32_t parent, std::span<const int32_t> tokens) {
  Page& p = at(page);
  assert(p.references > 0 && !p.findable && find(parent, tokens) == kNoPage);
  assert(parent == kNoPage || at(parent).findable);
  p.findable = true;
  p.parent = parent;
  p.hash = hash(parent, tokens);
  p.tokens.assign(tokens.begin(), tokens.end());
  by_hash_.emplace(p.hash, page);
  if (parent != kNoPage) at(parent).children.push_back(page);
}

void PagePool::withdraw(int32_t page) {
  // A worklist, not recursion: a chain is as long as the context.
  std::vector<int32_t> going{page};
  if (at(page).findable && at(page).parent != kNoPage) {
    std::erase(at(at(page).parent).children, page);
  }
  while (!going.empty()) {
    const int32_t current = going.back();
    going.pop_back();
    Page& p = at(current);
    if (!p.findable) continue;
    going.insert(going.end(), p.children.begin(), p.children.end());
    p.children.clear();
    const auto [begin, end] = by_hash_.equal_range(p.hash);
    by_hash_.erase(std::find_if(begin, end, [&](const auto& e) { return e.second == current; }));
    p.findable = false;
    p.parent = kNoPage;
    p.tokens.clear();
    if (p.references == 0) {
      cached_.erase(p.cached);
      blank_.push_back(current);
    }
  }
}

uint64_t PagePool::hash(int32_t parent, std::span<const int32_t> tokens) const noexcept {
  // FNV-1a over whole token ids, begun with the parent's hash. Only a filter: find() compares.
  uint64_t h = parent == kNoPage ? 0xcbf29ce484222325u : at(parent).hash;
  for (const int32_t token : tokens) {
    h = (h ^ static_cast<uint32_t>(token)) * 0x100000001b3u;
    h ^= h >> 29;
  }
  return h;
}

void PagePool::check(std::span<const int32_t> references) const {
  int64_t n_free = 0;
  int64_t n_cached = 0;
  int64_t n_findable = 0;
  for (int32_t page = 0; page < static_cast<int32_t>(pages_.size()); ++page) {
    const Page& p = at(page);
    if (p.references != references[static_cast<size_t>(page)]) {
      fail(ErrorCode::internal, "page ", page, " counts ", p.references, " references, but ",
           references[static_cast<size_t>(page)], " sequences hold it");
    }
    if (p.references == 0) ++n_free;
    if (p.references == 0 && p.findable) ++n_cached;
    if (!p.findable) {
      if (!p.tokens.empty() || !p.children.empty()) {
        fail(ErrorCode::internal, "page ", page, " is not findable, but keeps a prefix");
      }
      continue;
    }
    ++n_findable;
    if (find(p.parent, p.tokens) != page) {
      fail(ErrorCode::internal, "page ", page, " is not found by its own tokens");
    }
    if (p.parent == kNoPage) continue;
    if (!at(p.parent).findable || std::ranges::count(at(p.parent).children, page) != 1) {
      fail(ErrorCode::internal, "page ", page, " continues page ", p.parent,
           ", which does not know it");
    }
  }
  if (n_free != n_free_ || n_cached != static_cast<int64_t>(cached_.size()) ||
      n_free - n_cached != static_cast<int64_t>(blank_.size()) ||
      n_findable != static_cast<int64_t>(by_hash_.size())) {
    fail(ErrorCode::internal, "the page lists disagree: ", n_free, " free of which ", n_cached,
         " cached and ", n_findable, " findable, but the lists hold ", n_free_, " free, ",
         cached_.size(), " cached, ", blank_.size(), " blank and ", by_hash_.size(), " findable");
  }
}

}  // namespace bactrian
