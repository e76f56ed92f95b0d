#pragma once

#include <array>
#include <cstdint>

namespace bactrian {

/// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random
/// numbers: as easy as 1, 2, 3" (SC 2011): a pure function of key and counter.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9u;  // the golden ratio
    key[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

/// A number in [0, 1) with 53 random bits for one use (`purpose`) of one token. It depends on
/// nothing else, so that no scheduling can change a draw.
constexpr double uniform(uint32_t seed, uint64_t token_index, uint32_t purpose) noexcept {
  const auto bits = philox4x32(
      {static_cast<uint32_t>(token_index), static_cast<uint32_t>(token_index >> 32), 0, 0},
      {seed, purpose});
  const uint64_t wide = (uint64_t{bits[0]} << 32) | bits[1];
  return static_cast<double>(wide >> 11) * 0x1p-53;
}

}  // namespace bactrian
