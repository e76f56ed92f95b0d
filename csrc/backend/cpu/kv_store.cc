#include "backend/cpu/kv_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/half.h"
#include "kernels/attention.h"
#include "quant/blocks.h"
#include "quant/format.h"

namespace bactrian {
namespace {

constexpr int64_t kPage = kPageTokens;
constexpr int64_t kQ8Block = BlockQ8_0::kElems;

void check_type(const char* what, DType dtype, int d_head) {
  if (dtype != DType::F32 && dtype != DType::F16 && dtype != DType::Q8_0) {
    fail(ErrorCode::unsupported, "the KV cache can't hold ", what, " as ", dtype_info(dtype).name,
         "; it can as F32, F16 or Q8_0");
  }
  if (dtype == DType::Q8_0 && d_head % kQ8Block != 0) {
    fail(ErrorCode::unsupported, "the KV cache can't hold ", what, " of head size ", d_head,
         " as Q8_0, which needs a multiple of 32; it can as F32 or F16");
  }
}

size_t block_bytes(DType dtype, int d_head) {
  return static_cast<size_t>(kPage * dtype_info(dtype).row_bytes(d_head));
}

const KvShape& checked(const KvShape& shape) {
  check_type("keys", shape.dtype_k, shape.d_head_k);
  check_type("values", shape.dtype_v, shape.d_head_v);
  return shape;
}

/// Bytes of all pages; the largest size_t, which no allocation fulfils, if they are more.
size_t store_bytes(const KvShape& shape) {
  size_t bytes = 0;
  const bool overflow =
      __builtin_mul_overflow(shape.page_bytes(), static_cast<size_t>(shape.n_pages), &bytes);
  return overflow ? std::numeric_limits<size_t>::max() : bytes;
}

BlockQ8_0 quantize(const float* x) noexcept {
  BlockQ8_0 block;
  format(DType::Q8_0).quantize(x, reinterpret_cast<std::byte*>(&block), kQ8Block);
  return block;
}

// Views of a block's two parts.

template <typename T>
T* as(std::byte* at) {
  return reinterpret_cast<T*>(at);
}

/// Scales behind the 64 x d quants of a Q8_0 block.
uint16_t* scales(std::byte* quants, int64_t d_head) {
  return as<uint16_t>(quants + kPage * d_head);
}

}  // namespace

CpuKvStore::CpuKvStore(const KvShape& shape)
    : shape_(checked(shape)),
      key_bytes_(block_bytes(shape.dtype_k, shape.d_head_k)),
      value_bytes_(block_bytes(shape.dtype_v, shape.d_head_v)),
      memory_(store_bytes(shape), "the KV cache") {}

std::byte* CpuKvStore::block(int layer, int64_t page, int head) const noexcept {
  const int64_t index = (layer * shape_.n_pages + page) * shape_.n_head_kv + head;
  return memory_.data() + static_cast<size_t>(index) * (key_bytes_ + value_bytes_);
}

void CpuKvStore::write_key(const Kernels& kernels, int layer, int64_t cell, int head,
                           const float* key) noexcept {
  const int64_t d = shape_.d_head_k;
  const int64_t column = cell % kPage;
  std::byte* const keys = block(layer, cell / kPage, head);
  switch (shape_.dtype_k) {
    case DType::F16:
      for (int64_t i = 0; i < d; i += kPage) {
        uint16_t halves[kPage];
        const int64_t n = std::min(kPage, d - i);
        kernels.float_to_half(key + i, halves, n);
        for (int64_t j = 0; j < n; ++j) as<uint16_t>(keys)[(i + j) * kPage + column] = halves[j];
      }
      break;
    case DType::Q8_0:
      for (int64_t i = 0; i < d; i += kQ8Block) {
        const BlockQ8_0 q = quantize(key + i);
        scales(keys, d)[i / kQ8Block * kPage + column] = q.d;
        for (int64_t j = 0; j < kQ8Block; ++j) as<int8_t>(keys)[(i + j) * kPage + column] = q.qs[j];
      }
      break;
    default:
      for (int64_t i = 0; i < d; ++i) as<float>(keys)[i * kPage + column] = key[i];
  }
}

void CpuKvStore::read_key(int layer, int64_t cell, int head, float* key) const noexcept {
  const int64_t d = shape_.d_head_k;
  const int64_t column = cell % kPage;
  std::byte* const keys = block(layer, cell / kPage, head);
  for (int64_t i = 0; i < d; ++i) {
    const int64_t at = i * kPage + column;
    switch (shape_.dtype_k) {
      case DType::F16:
        key[i] = half_to_float(as<uint16_t>(keys)[at]);
        break;
      case DType::Q8_0:
        key[i] = half_to_float(scales(keys, d)[i / kQ8Block * kPage + column]) *
                 static_cast<float>(as<int8_t>(keys)[at]);
        break;
      default:
        key[i] = as<float>(keys)[at];
    }
  }
}

void CpuKvStore::write_value(const Kernels& kernels, int layer, int64_t cell, int head,
                             const float* value) noexcept {
  const int64_t d = shape_.d_head_v;
  const int64_t row = cell % kPage;
  std::byte* const at = values(layer, cell / kPage, head);
  switch (shape_.dtype_v) {
    case DType::F16:
      kernels.float_to_half(value, as<uint16_t>(at) + row * d, d);
      break;
    case DType::Q8_0:
      for (int64_t i = 0; i < d; i += kQ8Block) {
        const BlockQ8_0 q = quantize(value + i);
        scales(at, d)[(row * d + i) / kQ8Block] = q.d;
        std::memcpy(as<int8_t>(at) + row * d + i, q.qs, kQ8Block);
      }
      break;
    default:
      std::copy_n(value, d, as<float>(at) + row * d);
  }
}

void CpuKvStore::copy_value(int layer, int64_t src, int64_t dst, int head) noexcept {
  std::byte* const from = values(layer, src / kPage, head);
  std::byte* const to = values(layer, dst / kPage, head);
  const size_t n_parts = shape_.dtype_v == DType::Q8_0 ? 2 : 1;
  // A row of the elements, and a row of the scales if there are any.
  const auto d = static_cast<size_t>(shape_.d_head_v);
  const size_t element = shape_.dtype_v == DType::F32 ? 4 : shape_.dtype_v == DType::F16 ? 2 : 1;
  const size_t bytes[] = {d * element, d / kQ8Block * sizeof(uint16_t)};
  size_t offset = 0;
  for (size_t part = 0; part < n_parts; ++part) {
    std::memmove(to + offset + static_cast<size_t>(dst % kPage) * bytes[part],
                 from + offset + static_cast<size_t>(src % kPage) * bytes[part], bytes[part]);
    offset += static_cast<size_t>(kPage) * bytes[part];
  }
}

void CpuKvStore::copy_page(int64_t src, int64_t dst) noexcept {
  const size_t bytes = static_cast<size_t>(shape_.n_head_kv) * (key_bytes_ + value_bytes_);
  for (int layer = 0; layer < shape_.n_layer; ++layer) {
    std::memmove(block(layer, dst, 0), block(layer, src, 0), bytes);
  }
}

const float* CpuKvStore::key_page(const Kernels& kernels, int layer, int64_t page, int head,
                                  float* scratch) const noexcept {
  std::byte* const keys = block(layer, page, head);
  const int64_t d = shape_.d_head_k;
  switch (shape_.dtype_k) {
    case DType::F16:
      kernels.half_to_float(as<uint16_t>(keys), scratch, d * kPage);
      return scratch;
    case DType::Q8_0:
      for (int64_t i = 0; i < d; ++i) {
        kernels.scale_each(as<int8_t>(keys) + i * kPage, scales(keys, d) + i / kQ8Block * kPage,
                           scratch + i * kPage, kPage);
      }
      return scratch;
    default:
      return as<float>(keys);
  }
}

const float* CpuKvStore::value_page(const Kernels& kernels, int layer, int64_t page, int head,
                                    int64_t n_keys, float* scratch) const noexcept {
  std::byte* const at = values(layer, page, head);
  const int64_t d = shape_.d_head_v;
  const int64_t padded = padded_values(d);
  // Without padding the rows are one run.
  const int64_t n_runs = d == padded ? 1 : n_keys;
  const int64_t length = d == padded ? n_keys * d : d;
  if (shape_.dtype_v == DType::F32 && d == padded) return as<float>(at);
  for (int64_t i = 0; i < n_runs; ++i) {
    float* const dst = scratch + i * padded;
    switch (shape_.dtype_v) {
      case DType::F16:
        kernels.half_to_float(as<uint16_t>(at) + i * d, dst, length);
        break;
      case DType::Q8_0:
        kernels.scale_blocks(as<int8_t>(at) + i * d, scales(at, d) + i * d / kQ8Block, dst, length);
        break;
      default:
        std::copy_n(as<float>(at) + i * d, length, dst);
    }
    if (d != padded) std::fill(dst + d, dst + padded, 0.0f);
  }
  return scratch;
}

}  // namespace bactrian
