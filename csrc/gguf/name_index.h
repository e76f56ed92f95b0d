#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bactrian {

/// Where each name is. Sorted and not hashed: names come from files, and nobody can choose names
/// that make sorting slow.
class NameIndex {
 public:
  NameIndex() = default;

  /// items[i] has the name `items[i].*name`, which must outlive the index.
  template <typename Item>
  NameIndex(const std::vector<Item>& items, std::string_view Item::* name) {
    entries_.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) entries_.emplace_back(items[i].*name, i);
    std::ranges::sort(entries_);
  }

  std::optional<size_t> find(std::string_view name) const noexcept {
    const auto found = std::ranges::lower_bound(entries_, name, {}, &Entry::first);
    if (found == entries_.end() || found->first != name) return std::nullopt;
    return found->second;
  }

  /// Some name that occurs more than once.
  std::optional<std::string_view> duplicate() const noexcept {
    const auto found = std::ranges::adjacent_find(entries_, {}, &Entry::first);
    if (found == entries_.end()) return std::nullopt;
    return found->first;
  }

 private:
  using Entry = std::pair<std::string_view, size_t>;
  std::vector<Entry> entries_;
};

}  // namespace bactrian
