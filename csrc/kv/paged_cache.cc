#include "kv/paged_cache.h"

#include <algorithm>

#include "base/error.h"

namespace bactrian {
namespace {

constexpr int64_t pages_for(int64_t n_tokens) { return (n_tokens + kPageTokens - 1) / kPageTokens; }

std::span<const int32_t> page_tokens(std::span<const int32_t> tokens, int64_t page) {
  return tokens.subspan(static_cast<size_t>(page * kPageTokens), kPageTokens);
}

int32_t cell(std::span<const int32_t> pages, int64_t position) {
  return pages[static_cast<size_t>(position / kPageTokens)] * kPageTokens +
         static_cast<int32_t>(position % kPageTokens);
}

[[noreturn]] void fail_no_pages(int32_t sequence, int64_t n_needed, const PagePool& pool) {
  fail(ErrorCode::context_overflow, "sequence ", sequence, " needs ", n_needed,
       " more pages of the KV cache (", kPageTokens, " tokens each), but only ", pool.n_free(),
       " of ", pool.n_pages(), " are free; a larger n_ctx or fewer sequences would help");
}

}  // namespace

const PagedCache::Sequence* PagedCache::find(int32_t sequence) const noexcept {
  const auto it = sequences_.find(sequence);
  return it != sequences_.end() ? &it->second : nullptr;
}

PagedCache::Sequence& PagedCache::require_length(int32_t sequence, int64_t n_tokens,
                                                 const char* argument) {
  if (n_tokens < 0 || n_tokens > length(sequence)) {
    fail(ErrorCode::invalid_argument, argument, " is ", n_tokens, ", but sequence ", sequence,
         " has ", length(sequence), " tokens: it must lie between 0 and that");
  }
  return sequences_[sequence];
}

void PagedCache::require_empty(int32_t sequence, const char* argument) const {
  if (sequence < 0) {
    fail(ErrorCode::invalid_argument, argument, " is ", sequence, ", but must be 0 or more");
  }
  if (length(sequence) != 0) {
    fail(ErrorCode::invalid_argument, argument, " is ", sequence, ", which has ", length(sequence),
         " tokens: remove it first");
  }
}

int64_t PagedCache::length(int32_t sequence) const noexcept {
  return static_cast<int64_t>(tokens(sequence).size());
}

std::span<const int32_t> PagedCache::tokens(int32_t sequence) const noexcept {
  const Sequence* found = find(sequence);
  return found != nullptr ? std::span<const int32_t>(found->tokens) : std::span<const int32_t>();
}

std::span<const int32_t> PagedCache::pages(int32_t sequence) const noexcept {
  const Sequence* found = find(sequence);
  return found != nullptr ? std::span<const int32_t>(found->pages) : std::span<const int32_t>();
}

std::vector<int32_t> PagedCache::sequences() const {
  std::vector<int32_t> numbers;
  numbers.reserve(sequences_.size());
  for (const auto& [number, sequence] : sequences_) numbers.push_back(number);
  return numbers;
}

std::optional<PageCopy> PagedCache::extend(int32_t sequence, std::span<const int32_t> tokens) {
  if (tokens.empty()) return std::nullopt;
  const int64_t old_length = length(sequence);
  const int64_t new_length = old_length + static_cast<int64_t>(tokens.size());
  const bool last_is_partial = old_length % kPageTokens != 0;
  const int32_t last = last_is_partial ? pages(sequence).back() : PagePool::kNoPage;
  const bool must_copy = last_is_partial && pool_.is_shared(last);
  const int64_t n_needed = pages_for(new_length) - pages_for(old_length) + (must_copy ? 1 : 0);
  if (n_needed > pool_.n_free()) fail_no_pages(sequence, n_needed, pool_);

  Sequence& s = sequences_[sequence];
  std::optional<PageCopy> copy;
  if (must_copy || (last_is_partial && pool_.is_findable(last) && n_needed < pool_.n_free())) {
    copy = PageCopy{last, pool_.take()};
    s.pages.back() = copy->target;
    pool_.release(last);
  } else if (last_is_partial) {
    pool_.withdraw(last);
  }
  while (static_cast<int64_t>(s.pages.size()) < pages_for(new_length)) {
    s.pages.push_back(pool_.take());
  }
  s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
  if (s.n_exact == old_length) s.n_exact = new_length;
  return copy;
}

void PagedCache::commit(int32_t sequence) {
  const auto it = sequences_.find(sequence);
  if (it == sequences_.end()) return;
  Sequence& s = it->second;
  int32_t parent = PagePool::kNoPage;
  for (int64_t i = 0; i < s.n_exact / kPageTokens; ++i) {
    int32_t& page = s.pages[static_cast<size_t>(i)];
    if (!pool_.is_findable(page)) {
      const auto tokens = page_tokens(s.tokens, i);
      if (const int32_t equal = pool_.find(parent, tokens); equal != PagePool::kNoPage) {
        pool_.adopt(equal);
        pool_.release(page);
        page = equal;
      } else {
        pool_.publish(page, parent, tokens);
      }
    }
    parent = page;
  }
}

void PagedCache::truncate(int32_t sequence, int64_t n_tokens) {
  if (n_tokens == 0 && length(sequence) == 0) return;
  Sequence& s = require_length(sequence, n_tokens, "n_tokens");
  // From the end, so that cached pages fall out of use leaf first.
  while (static_cast<int64_t>(s.pages.size()) > pages_for(n_tokens)) {
    pool_.release(s.pages.back());
    s.pages.pop_back();
  }
  s.tokens.resize(static_cast<size_t>(n_tokens));
  s.n_exact = std::min(s.n_exact, n_tokens);
  if (n_tokens == 0) sequences_.erase(sequence);
}

void PagedCache::fork(int32_t source, int32_t target, int64_t n_tokens) {
  require_empty(target, "target");
  if (n_tokens == 0 && length(source) == 0) return;
  const Sequence& from = require_length(source, n_tokens, "n_tokens");
  if (n_tokens == 0) return;
  Sequence copy;
  copy.tokens.assign(from.tokens.begin(), from.tokens.begin() + n_tokens);
  copy.pages.assign(from.pages.begin(), from.pages.begin() + pages_for(n_tokens));
  copy.n_exact = std::min(from.n_exact, n_tokens);
  for (const int32_t page : copy.pages) pool_.add_reference(page);
  sequences_.emplace(target, std::move(copy));
}

ShiftPlan PagedCache::shift(int32_t sequence, int64_t n_keep, int64_t n_discard) {
  const int64_t old_length = length(sequence);
  if (n_keep < 0 || n_discard < 0 || n_keep > old_length || n_discard > old_length - n_keep) {
    fail(ErrorCode::invalid_argument, "can't keep ", n_keep, " and discard ", n_discard,
         " tokens of sequence ", sequence, ", which has ", old_length,
         ": neither may be negative, and their sum must not exceed that");
  }
  if (n_discard == 0) return {};
  if (n_keep + n_discard == old_length) {
    truncate(sequence, n_keep);
    return {};
  }
  Sequence& s = sequences_[sequence];
  const int64_t new_length = old_length - n_discard;
  const int64_t first = n_keep / kPageTokens;  // pages [first, last) are written
  const int64_t last = pages_for(new_length);
  const std::vector<int32_t> old_pages = s.pages;

  const int64_t n_needed = std::count_if(old_pages.begin() + first, old_pages.begin() + last,
                                         [this](int32_t page) { return pool_.is_shared(page); });
  if (n_needed > pool_.n_free()) fail_no_pages(sequence, n_needed, pool_);

  // All new pages are taken before an old one is let go: the moves still read the old ones.
  ShiftPlan plan;
  for (int64_t i = first; i < last; ++i) {
    int32_t& page = s.pages[static_cast<size_t>(i)];
    if (!pool_.is_shared(page)) {
      pool_.withdraw(page);
      continue;
    }
    page = pool_.take();
    if (i == first && n_keep % kPageTokens != 0) {
      plan.copies.push_back({old_pages[static_cast<size_t>(i)], page});
    }
  }
  for (int64_t position = n_keep; position < new_length; ++position) {
    plan.source_cells.push_back(cell(old_pages, position + n_discard));
    plan.target_cells.push_back(cell(s.pages, position));
  }
  plan.delta = static_cast<int32_t>(-n_discard);
  for (int64_t i = static_cast<int64_t>(old_pages.size()) - 1; i >= first; --i) {
    const int32_t page = old_pages[static_cast<size_t>(i)];
    if (i >= last || s.pages[static_cast<size_t>(i)] != page) pool_.release(page);
  }
  s.pages.resize(static_cast<size_t>(last));
  s.tokens.erase(s.tokens.begin() + n_keep, s.tokens.begin() + n_keep + n_discard);
  s.n_exact = std::min(s.n_exact, n_keep);
  return plan;
}

int64_t PagedCache::reuse_prefix(int32_t sequence, std::span<const int32_t> tokens) {
  require_empty(sequence, "sequence");
  Sequence s;
  int32_t parent = PagePool::kNoPage;
  const int64_t n_pages = (static_cast<int64_t>(tokens.size()) - 1) / kPageTokens;
  for (int64_t i = 0; i < n_pages; ++i) {
    const int32_t page = pool_.find(parent, page_tokens(tokens, i));
    if (page == PagePool::kNoPage) break;
    pool_.adopt(page);
    s.pages.push_back(page);
    parent = page;
  }
  if (s.pages.empty()) return 0;
  s.n_exact = static_cast<int64_t>(s.pages.size()) * kPageTokens;
  s.tokens.assign(tokens.begin(), tokens.begin() + s.n_exact);
  const int64_t n_reused = s.n_exact;
  sequences_.emplace(sequence, std::move(s));
  return n_reused;
}

void PagedCache::check() const {
  std::vector<int32_t> references(static_cast<size_t>(pool_.n_pages()));
  for (const auto& [number, s] : sequences_) {
    const auto n_tokens = static_cast<int64_t>(s.tokens.size());
    if (n_tokens == 0 || static_cast<int64_t>(s.pages.size()) != pages_for(n_tokens) ||
        s.n_exact < 0 || s.n_exact > n_tokens) {
      fail(ErrorCode::internal, "sequence ", number, " has ", n_tokens, " tokens in ",
           s.pages.size(), " pages, ", s.n_exact, " of them exact");
    }
    for (const int32_t page : s.pages) ++references[static_cast<size_t>(page)];
  }
  pool_.check(references);
}

}  // namespace bactrian
