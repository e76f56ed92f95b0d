#include "kernels/linear.h"

#include <algorithm>

#include "quant/format.h"

namespace bactrian {
namespace {

constexpr int64_t kGroups = 4;        // expanded side by side
constexpr int64_t kPanelK = 320;      // a panel of 320 x 16 floats: 20 KB, stays in L1
constexpr int64_t kTokenBlock = 192;  // x block of 192 x 320 floats stays in L2
constexpr int64_t kPanelFloats = kPanelK * kGroupRows;
constexpr int64_t kSumFloats = kGroups * kTokenBlock * kGroupRows;

/// Panels [n_k, 16] of consecutive groups, `stride` floats apart.
struct Panels {
  const float* data;
  int64_t stride;
};

/// k per panel: pieces of nearly equal length, whole blocks of the format.
int64_t panel_k(const LinearWeight& w) {
  const int64_t block = std::max<int64_t>(32, dtype_info(w.dtype).block_elems);
  const int64_t n_pieces = (w.n_cols + kPanelK - 1) / kPanelK;
  const int64_t even = (w.n_cols + n_pieces - 1) / n_pieces;
  return std::min((even + block - 1) / block * block, kPanelK / block * block);
}

/// Rows of a format without a packed layout: dequantised 16 at a time and transposed.
void expand_rows(const Kernels& kernels, const LinearWeight& w, int64_t group, int64_t k_begin,
                 int64_t n_k, float* rows, float* panel) noexcept {
  const DTypeInfo& info = dtype_info(w.dtype);
  const int64_t row_bytes = info.row_bytes(w.n_cols);
  for (int64_t r = 0; r < kGroupRows; ++r) {
    const int64_t row = group * kGroupRows + r;
    if (row < w.n_rows) {
      const std::byte* src = w.data + row * row_bytes + info.row_bytes(k_begin);
      format(w.dtype).dequantize(src, rows + r * n_k, n_k);
    } else {
      std::fill_n(rows + r * n_k, n_k, 0.0f);
    }
  }
  kernels.transpose(rows, n_k, n_k, panel, kGroupRows);
}

Panels expand(const Kernels& kernels, const LinearWeight& w, int64_t group, int64_t n_groups,
              int64_t k_begin, int64_t n_k, float* panels, float* rows) noexcept {
  if (w.layout == nullptr) {
    for (int64_t g = 0; g < n_groups; ++g) {
      expand_rows(kernels, w, group + g, k_begin, n_k, rows, panels + g * kPanelFloats);
    }
    return {panels, kPanelFloats};
  }
  const size_t group_bytes = w.layout->group_bytes(w.n_cols);
  const std::byte* first = w.data + static_cast<size_t>(group) * group_bytes;
  if (w.layout->kind == PackedKind::f32) {  // a packed group already is a panel
    return {reinterpret_cast<const float*>(first) + k_begin * kGroupRows,
            static_cast<int64_t>(group_bytes / sizeof(float))};
  }
  const auto kind = static_cast<size_t>(w.layout->kind);
  for (int64_t g = 0; g < n_groups; ++g) {
    kernels.packed[kind]->expand(first + static_cast<size_t>(g) * group_bytes, k_begin, n_k,
                                 panels + g * kPanelFloats);
  }
  return {panels, kPanelFloats};
}

/// Sums of one group [n_tokens, 16] to their place in out.
void store(const LinearArgs& args, int64_t group, int64_t t_begin, int64_t n_tokens,
           const float* sums) noexcept {
  const int64_t n_begin = group * kGroupRows;
  const int64_t width = std::min<int64_t>(kGroupRows, args.weight.n_rows - n_begin);
  float bias[kGroupRows] = {};
  if (args.bias != nullptr) std::copy_n(args.bias + n_begin, width, bias);
  for (int64_t t = 0; t < n_tokens; ++t) {
    float* out = args.out + (t_begin + t) * args.ldo + n_begin;
    const float* sum = sums + t * kGroupRows;
    if (args.accumulate) {
      for (int64_t j = 0; j < width; ++j) out[j] += sum[j] + bias[j];
    } else {
      for (int64_t j = 0; j < width; ++j) out[j] = sum[j] + bias[j];
    }
  }
}

void linear_block(const Kernels& kernels, const LinearArgs& args, int64_t group, int64_t n_groups,
                  int64_t t_begin, int64_t n_tokens, float* scratch) noexcept {
  const LinearWeight& w = args.weight;
  float* const sums = scratch;
  float* const panels = sums + kSumFloats;
  float* const rows = panels + kGroups * kPanelFloats;
  const int64_t step = panel_k(w);
  for (int64_t k = 0; k < w.n_cols; k += step) {
    const int64_t n_k = std::min(step, w.n_cols - k);
    const Panels b = expand(kernels, w, group, n_groups, k, n_k, panels, rows);
    kernels.gemm({.a = args.x + t_begin * args.ldx + k,
                  .lda = args.ldx,
                  .b = b.data,
                  .ldb = kGroupRows,
                  .b_panel = b.stride,
                  .c = sums,
                  .ldc = kGroupRows,
                  .c_panel = n_tokens * kGroupRows,
                  .n_rows = n_tokens,
                  .n_panels = n_groups,
                  .k = n_k,
                  .accumulate = k > 0});
  }
  for (int64_t g = 0; g < n_groups; ++g) {
    store(args, group + g, t_begin, n_tokens, sums + g * n_tokens * kGroupRows);
  }
}

}  // namespace

size_t linear_scratch_floats() noexcept {
  return static_cast<size_t>(kSumFloats + (kGroups + 1) * kPanelFloats);
}

void linear_groups(const Kernels& kernels, const LinearArgs& args, int64_t group_begin,
                   int64_t group_end, float* scratch) noexcept {
  const LinearWeight& w = args.weight;
  const PackedKernels* packed =
      w.layout == nullptr ? nullptr : kernels.packed[static_cast<size_t>(w.layout->kind)];
  const bool fused = packed != nullptr && args.n_tokens <= packed->max_fused_tokens;
  for (int64_t group = group_begin; group < group_end; group += kGroups) {
    const int64_t n_groups = std::min(kGroups, group_end - group);
    if (fused) {
      const size_t group_bytes = w.layout->group_bytes(w.n_cols);
      packed->fused(w.data + static_cast<size_t>(group) * group_bytes, group_bytes, n_groups,
                    w.n_cols, args.x, args.ldx, static_cast<int>(args.n_tokens), scratch);
      for (int64_t g = 0; g < n_groups; ++g) {
        store(args, group + g, 0, args.n_tokens, scratch + g * args.n_tokens * kGroupRows);
      }
      continue;
    }
    for (int64_t t = 0; t < args.n_tokens; t += kTokenBlock) {
      linear_block(kernels, args, group, n_groups, t, std::min(kTokenBlock, args.n_tokens - t),
                   scratch);
    }
  }
}

}  // namespace bactrian
