#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace bactrian::test {

/// Reproducible numbers for tests.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  /// Uniform in [low, high). Not std::uniform_real_distribution, whose numbers vary by library.
  float uniform(float low = -1.0f, float high = 1.0f) {
    return low + (high - low) * static_cast<float>(engine_() >> 8) * 0x1p-24f;
  }
  std::vector<float> floats(int64_t n, float low = -1.0f, float high = 1.0f) {
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = uniform(low, high);
    return values;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(engine_()) % n; }

 private:
  std::mt19937 engine_;
};

}  // namespace bactrian::test
