#include <random>

#include "check.h"
#include "gguf_builder.h"
#include "gguf_exercise.h"

// The bounded fuzz run: it needs no fuzzing engine, and finds the same things on every machine.
// fuzz.cmake builds the same target with libFuzzer, for longer searches.

namespace bactrian::test {
namespace {

constexpr int kExecutions = 100000;

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    for (size_t n = 1 + below(4); n > 0; --n) mutate(bytes);
    return bytes;
  }

 private:
  // Of the standard distributions the results differ between libraries.
  size_t below(size_t bound) { return static_cast<size_t>(random_() % bound); }

  uint64_t number(size_t file_size) {
    const uint64_t interesting[] = {0,
                                    1,
                                    2,
                                    4,
                                    8,
                                    9,
                                    13,
                                    31,
                                    32,
                                    63,
                                    255,
                                    1u << 16,
                                    0x7fffffff,
                                    0xffffffff,
                                    uint64_t{1} << 32,
                                    (uint64_t{1} << 42) + 1,
                                    uint64_t{1} << 60,
                                    INT64_MAX,
                                    uint64_t{1} << 63,
                                    UINT64_MAX,
                                    UINT64_MAX - 31,
                                    file_size,
                                    file_size - 1};
    return interesting[below(std::size(interesting))];
  }

  void mutate(std::string& bytes) {
    if (bytes.empty()) return;
    const size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random_());
        break;
      case 2:
      case 3: {  // most fields are four or eight bytes wide
        const std::string value = field(number(bytes.size()));
        bytes.replace(at, below(2) == 0 ? 4 : 8, value, 0, below(2) == 0 ? 4 : 8);
        break;
      }
      case 4:
        bytes.resize(at);
        break;
      case 5:
        bytes.erase(at, 1 + below(16));
        break;
      case 6: {
        const std::string& other = seeds_[below(seeds_.size())];
        bytes.insert(at, other, below(other.size()), 1 + below(64));
        break;
      }
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_{1};
};

TEST(fuzz_seeds_are_read_except_the_split_one) {
  const auto seeds = gguf_seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    CHECK_EQ(exercise_gguf(as_bytes(seeds[i])), i + 1 < seeds.size());
  }
}

TEST(fuzz_every_prefix_and_every_changed_byte) {
  for (const std::string& seed : gguf_seeds()) {
    for (size_t length = 0; length < seed.size(); ++length) {
      // Of its own allocation, so that a read one byte behind the end is seen.
      const std::vector<char> prefix(seed.begin(), seed.begin() + static_cast<ptrdiff_t>(length));
      exercise_gguf(std::as_bytes(std::span(prefix)));
    }
    for (size_t at = 0; at < seed.size(); ++at) {
      for (const char value : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
        std::string bytes = seed;
        bytes[at] = value;
        exercise_gguf(as_bytes(bytes));
      }
    }
  }
}

TEST(fuzz_random_mutations) {
  Mutator mutator(gguf_seeds());
  int accepted = 0;
  for (int i = 0; i < kExecutions; ++i) {
    const std::string bytes = mutator.next();
    const std::vector<char> exact(bytes.begin(), bytes.end());
    accepted += exercise_gguf(std::as_bytes(std::span(exact)));
  }
  // Both outcomes must be common, or the mutations miss half of the code.
  CHECK(accepted > kExecutions / 100 && accepted < kExecutions * 3 / 4);
}

}  // namespace
}  // namespace bactrian::test
