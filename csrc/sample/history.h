#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace bactrian {

/// The last tokens of a sequence, as many as the samplers look at.
class History {
 public:
  /// `n_counted`: how many of the last tokens counts() covers; `n_kept`: how many last() may be
  /// asked for. Negative: all.
  History(int32_t n_counted, int32_t n_kept) : n_counted_(n_counted), n_kept_(n_kept) {}

  void push(int32_t token) {
    tokens_.push_back(token);
    if (n_counted_ != 0) ++counts_[token];
    if (n_counted_ > 0 && tokens_.size() > static_cast<size_t>(n_counted_)) {
      const auto gone = counts_.find(tokens_[tokens_.size() - 1 - static_cast<size_t>(n_counted_)]);
      if (--gone->second == 0) counts_.erase(gone);
    }
    if (n_kept_ < 0 || n_counted_ < 0) return;
    // Trimmed by half now and then: last() needs the tokens in a row.
    const size_t needed = static_cast<size_t>(std::max(n_kept_, n_counted_)) + 1;
    if (tokens_.size() >= 2 * needed + kSlack) {
      tokens_.erase(tokens_.begin(), tokens_.end() - static_cast<std::ptrdiff_t>(needed));
    }
  }

  /// How often each of the last n_counted tokens occurs among them.
  const std::unordered_map<int32_t, int32_t>& counts() const noexcept { return counts_; }

  /// The last n tokens (negative: all) or fewer if there are not so many; the newest comes last.
  std::span<const int32_t> last(int32_t n) const noexcept {
    const std::span<const int32_t> all(tokens_);
    return n < 0 || static_cast<size_t>(n) >= all.size() ? all : all.last(static_cast<size_t>(n));
  }

 private:
  static constexpr size_t kSlack = 64;

  int32_t n_counted_;
  int32_t n_kept_;
  std::vector<int32_t> tokens_;
  std::unordered_map<int32_t, int32_t> counts_;
};

}  // namespace bactrian
