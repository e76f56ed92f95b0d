#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/cpu/memory.h"
#include "kernels/kernels.h"

namespace bactrian {

/// Keys and values in blocks of one page of one head: [layer][page][head] { keys, values }.
///
///   type   keys of a block                                values of a block
///   F32    float [D_k][64]                                float [64][D_v]
///   F16    half [D_k][64]                                 half [64][D_v]
///   Q8_0   int8 [D_k][64]; half d [D_k / 32][64]          int8 [64][D_v]; half d [64][D_v / 32]
///
/// Keys lie transposed, as the panels that attention multiplies by: reading a page, which happens
/// for every token, is one pass of conversion; writing a key, which happens once, is the scatter.
class CpuKvStore final : public KvStore {
 public:
  /// Throws Error: unsupported (type, or head size for it), out_of_memory.
  explicit CpuKvStore(const KvShape& shape);

  const KvShape& shape() const noexcept { return shape_; }

  // Cells are page * kPageTokens + index.

  void write_key(const Kernels& kernels, int layer, int64_t cell, int head,
                 const float* key) noexcept;
  void write_value(const Kernels& kernels, int layer, int64_t cell, int head,
                   const float* value) noexcept;
  void read_key(int layer, int64_t cell, int head, float* key) const noexcept;
  /// dst = src, bit for bit.
  void copy_value(int layer, int64_t src, int64_t dst, int head) noexcept;
  void copy_page(int64_t src, int64_t dst) noexcept;

  /// Keys of a page as float [D_k, 64]: in place, or written to scratch of that size.
  const float* key_page(const Kernels& kernels, int layer, int64_t page, int head,
                        float* scratch) const noexcept;
  /// The first n_keys values of a page as float [n_keys, padded_values(D_v)], padded with zeros.
  const float* value_page(const Kernels& kernels, int layer, int64_t page, int head, int64_t n_keys,
                          float* scratch) const noexcept;

 private:
  std::byte* block(int layer, int64_t page, int head) const noexcept;
  std::byte* values(int layer, int64_t page, int head) const noexcept {
    return block(layer, page, head) + key_bytes_;
  }

  KvShape shape_;
  size_t key_bytes_;    // of a block
  size_t value_bytes_;  // of a block
  Memory memory_;
};

}  // namespace bactrian
