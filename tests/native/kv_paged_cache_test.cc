#include "kv/paged_cache.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "base/error.h"
#include "check.h"

using namespace bactrian;

namespace {

/// What a cell holds, as far as the test can tell: the tokens that led to it and its rotation.
/// Exact cells of equal tokens are equal; a shifted cell differs from all that were evaluated.
struct CellValue {
  std::vector<int32_t> history;  // tokens attended to, the cell's own last
  int32_t rotation = 0;
  bool operator==(const CellValue&) const = default;
};

/// A device that does what the cache asks for, and a plain model of what each sequence must hold.
class Simulation {
 public:
  explicit Simulation(int64_t n_pages)
      : cache(n_pages), cells_(static_cast<size_t>(n_pages) * kPageTokens) {}

  PagedCache cache;

  void extend(int32_t sequence, const std::vector<int32_t>& tokens, bool succeed = true) {
    const int64_t old_length = cache.length(sequence);
    const auto copy = cache.extend(sequence, tokens);
    if (copy) copy_page(*copy);
    auto& want = want_[sequence];
    const size_t n_written = succeed ? tokens.size() : tokens.size() / 2;
    for (size_t i = 0; i < n_written; ++i) {
      CellValue value;
      if (!want.empty()) value.history = want.back().history;
      value.history.push_back(tokens[i]);
      // A token after shifted ones attends to them: its value is its own for ever.
      if (!want.empty() && want.back().rotation != 0) value.rotation = next_rotation_++;
      at(sequence, old_length + static_cast<int64_t>(i)) = value;
      if (succeed) want.push_back(value);
    }
    if (succeed) {
      cache.commit(sequence);
    } else {
      truncate(sequence, old_length);
    }
  }

  void truncate(int32_t sequence, int64_t n_tokens) {
    cache.truncate(sequence, n_tokens);
    want_[sequence].resize(static_cast<size_t>(n_tokens));
  }

  void fork(int32_t source, int32_t target, int64_t n_tokens) {
    cache.fork(source, target, n_tokens);
    const auto& from = want_[source];
    want_[target].assign(from.begin(), from.begin() + n_tokens);
  }

  void shift(int32_t sequence, int64_t n_keep, int64_t n_discard) {
    const ShiftPlan plan = cache.shift(sequence, n_keep, n_discard);
    for (const PageCopy& copy : plan.copies) copy_page(copy);
    auto& want = want_[sequence];
    want.erase(want.begin() + n_keep, want.begin() + n_keep + n_discard);
    if (n_discard == 0) return;
    CHECK_EQ(plan.source_cells.size(), want.size() - static_cast<size_t>(n_keep));
    const int32_t rotation = next_rotation_++;
    for (size_t i = 0; i < plan.source_cells.size(); ++i) {
      CellValue moved = cells_[static_cast<size_t>(plan.source_cells[i])];
      moved.rotation = rotation;
      cells_[static_cast<size_t>(plan.target_cells[i])] = moved;
      want[static_cast<size_t>(n_keep) + i].rotation = rotation;
    }
  }

  int64_t reuse(int32_t sequence, const std::vector<int32_t>& tokens) {
    const int64_t n = cache.reuse_prefix(sequence, tokens);
    auto& want = want_[sequence];
    want.clear();
    for (int64_t i = 0; i < n; ++i) {
      CellValue value;
      value.history.assign(tokens.begin(), tokens.begin() + i + 1);
      want.push_back(value);
    }
    return n;
  }

  /// Every cell of every sequence holds what the plain model says.
  void check() {
    cache.check();
    for (auto& [sequence, want] : want_) {
      CHECK_EQ(cache.length(sequence), static_cast<int64_t>(want.size()));
      for (size_t i = 0; i < want.size(); ++i) {
        CHECK(at(sequence, static_cast<int64_t>(i)) == want[i]);
        CHECK_EQ(cache.tokens(sequence)[i], want[i].history.back());
      }
    }
  }

 private:
  CellValue& at(int32_t sequence, int64_t position) {
    const auto page = cache.pages(sequence)[static_cast<size_t>(position / kPageTokens)];
    return cells_[static_cast<size_t>(page * kPageTokens + position % kPageTokens)];
  }
  void copy_page(const PageCopy& copy) {
    std::copy_n(cells_.begin() + copy.source * kPageTokens, kPageTokens,
                cells_.begin() + copy.target * kPageTokens);
  }

  std::vector<CellValue> cells_;
  std::map<int32_t, std::vector<CellValue>> want_;
  int32_t next_rotation_ = 1;
};

std::vector<int32_t> range(int32_t begin, int64_t n) {
  std::vector<int32_t> tokens(static_cast<size_t>(n));
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = begin + static_cast<int32_t>(i);
  return tokens;
}

}  // namespace

TEST(prefix_of_a_removed_sequence_is_found) {
  Simulation s(8);
  s.extend(0, range(0, 200));
  s.truncate(0, 0);
  CHECK_EQ(s.cache.n_free_pages(), 8);
  CHECK_EQ(s.reuse(1, range(0, 200)), 192);
  CHECK_EQ(s.cache.n_free_pages(), 5);
  s.check();
}

TEST(at_least_one_token_is_left_to_evaluate) {
  Simulation s(8);
  s.extend(0, range(0, 128));
  CHECK_EQ(s.reuse(1, range(0, 128)), 64);
  CHECK_EQ(s.reuse(2, range(0, 129)), 128);
  CHECK_EQ(s.reuse(3, range(0, 64)), 0);
  CHECK_EQ(s.reuse(4, {}), 0);
  s.check();
}

TEST(equal_sequences_share_their_full_pages) {
  Simulation s(8);
  s.extend(0, range(0, 130));
  s.extend(1, range(0, 130));
  CHECK_EQ(s.cache.n_free_pages(), 4);  // two shared pages, one tail each
  CHECK_EQ(s.cache.pages(0)[1], s.cache.pages(1)[1]);
  s.check();
}

TEST(a_fork_copies_the_shared_tail_when_written) {
  Simulation s(8);
  s.extend(0, range(0, 70));
  s.fork(0, 1, 70);
  CHECK_EQ(s.cache.n_free_pages(), 6);
  s.extend(1, range(500, 3));
  CHECK_EQ(s.cache.n_free_pages(), 5);
  s.extend(0, range(900, 3));
  CHECK_EQ(s.cache.n_free_pages(), 5);
  s.check();
}

TEST(running_out_of_pages_changes_nothing_and_names_the_numbers) {
  Simulation s(3);
  s.extend(0, range(0, 100));
  CHECK_ERROR(s.cache.extend(0, range(0, 100)), ErrorCode::context_overflow, "needs 2 more pages");
  CHECK_ERROR(s.cache.extend(1, range(0, 100)), ErrorCode::context_overflow, "only 1 of 3");
  s.check();
  CHECK_EQ(s.cache.sequences().size(), size_t{1});
  s.extend(0, range(0, 92));
  CHECK_EQ(s.cache.n_free_pages(), 0);
  s.check();
}

TEST(a_full_cache_can_be_cut_and_grown_again) {
  Simulation s(2);
  s.extend(0, range(0, 128));
  s.truncate(0, 100);
  s.extend(0, range(700, 28));  // its page is findable and no other is free
  s.check();
}

TEST(shifted_pages_are_not_found_as_a_prefix) {
  Simulation s(16);
  s.extend(0, range(0, 300));
  s.shift(0, 10, 64);
  std::vector<int32_t> tokens(s.cache.tokens(0).begin(), s.cache.tokens(0).end());
  s.extend(0, range(1000, 200));
  s.check();
  CHECK_EQ(s.reuse(1, tokens), 0);
  s.check();
}

TEST(arguments_out_of_range_are_refused) {
  Simulation s(4);
  s.extend(0, range(0, 10));
  CHECK_ERROR(s.cache.truncate(0, 11), ErrorCode::invalid_argument, "n_tokens is 11");
  CHECK_ERROR(s.cache.truncate(0, -1), ErrorCode::invalid_argument, "n_tokens is -1");
  CHECK_ERROR(s.cache.truncate(7, 1), ErrorCode::invalid_argument, "sequence 7");
  CHECK_ERROR(s.cache.fork(0, 0, 5), ErrorCode::invalid_argument, "remove it first");
  CHECK_ERROR(s.cache.fork(0, -1, 5), ErrorCode::invalid_argument, "target is -1");
  CHECK_ERROR(s.cache.fork(0, 1, 11), ErrorCode::invalid_argument, "n_tokens is 11");
  CHECK_ERROR(s.cache.reuse_prefix(0, {}), ErrorCode::invalid_argument, "remove it first");
  constexpr int64_t kHuge = int64_t{1} << 62;
  for (const auto& [keep, discard] : {std::pair<int64_t, int64_t>{-1, 1},
                                      {0, -1},
                                      {0, 11},
                                      {11, 0},
                                      {5, 6},
                                      {kHuge, kHuge},
                                      {5, kHuge}}) {
    CHECK_ERROR(s.cache.shift(0, keep, discard), ErrorCode::invalid_argument, "can't keep");
  }
  s.check();
}

TEST(random_operations_agree_with_the_plain_model) {
  std::mt19937 random(7);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (int round = 0; round < 40; ++round) {
    Simulation s(4 + below(12));
    for (int i = 0; i < 150; ++i) {
      const auto sequence = static_cast<int32_t>(below(5));
      const auto other = static_cast<int32_t>(below(5));
      const int64_t length = s.cache.length(sequence);
      // Few distinct texts, so that prefixes meet.
      std::vector<int32_t> tokens = range(static_cast<int32_t>(below(3)) * 1000, 1 + below(150));
      if (length == 0 && below(2) == 0) {
        s.reuse(sequence, tokens);
        continue;
      }
      try {
        switch (below(6)) {
          case 0:
            s.truncate(sequence, below(length + 1));
            break;
          case 1:
            if (s.cache.length(other) == 0 && other != sequence) {
              s.fork(sequence, other, below(length + 1));
            }
            break;
          case 2: {
            const int64_t n_keep = below(length + 1);
            s.shift(sequence, n_keep, below(length - n_keep + 1));
            break;
          }
          case 3:
            s.extend(sequence, tokens, false);
            break;
          default:
            s.extend(sequence, tokens);
        }
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::context_overflow);
      }
      s.check();
    }
  }
}
