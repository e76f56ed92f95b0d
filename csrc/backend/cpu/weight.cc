#include "backend/cpu/handles.h"
#include "base/thread_pool.h"
#include "quant/format.h"

namespace bactrian {

CpuWeight::CpuWeight(const HostTensor& tensor, WeightRole role, ThreadPool& pool)
    : n_rows_(tensor.n_rows), n_cols_(tensor.n_cols), dtype_(tensor.dtype), mapped_(tensor.data) {
  switch (role) {
    case WeightRole::vector:
      memory_ = Memory(static_cast<size_t>(n_rows_ * n_cols_) * sizeof(float), "a weight vector");
      for (int64_t r = 0; r < n_rows_; ++r) {
        format(dtype_).dequantize(row(r).data(), memory_.floats() + r * n_cols_, n_cols_);
      }
      break;
    case WeightRole::table:
      break;
    case WeightRole::linear:
    case WeightRole::linear_and_table:
      layout_ = packed_layout(dtype_);
      if (layout_ != nullptr) pack(pool);
      break;
  }
}

void CpuWeight::pack(ThreadPool& pool) {
  const int64_t n_groups = linear().n_groups();
  const size_t group_bytes = layout_->group_bytes(n_cols_);
  memory_ = Memory(static_cast<size_t>(n_groups) * group_bytes, "packed weights");
  pool.for_each(n_groups, [&](int64_t group, int) {
    pack_group(*layout_, mapped_.data(), n_rows_, n_cols_, group,
               memory_.data() + static_cast<size_t>(group) * group_bytes);
  });
}

LinearWeight CpuWeight::linear() const noexcept {
  return {.dtype = dtype_,
          .n_rows = n_rows_,
          .n_cols = n_cols_,
          .layout = layout_,
          .data = layout_ != nullptr ? memory_.data() : mapped_.data()};
}

std::span<const std::byte> CpuWeight::row(int64_t index) const noexcept {
  const auto bytes = static_cast<size_t>(dtype_info(dtype_).row_bytes(n_cols_));
  return mapped_.subspan(static_cast<size_t>(index) * bytes, bytes);
}

}  // namespace bactrian
