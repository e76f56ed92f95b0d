#pragma once

namespace bactrian {

/// Tokens per page of the KV cache. Attention walks keys in blocks of this size, aligned to the
/// absolute position, so that the order of its sums never depends on the batch.
inline constexpr int kPageTokens = 64;

}  // namespace bactrian
