#pragma once

#include <span>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/memory.h"
#include "kernels/linear.h"

namespace bactrian {

class ThreadPool;

// What the opaque handles of backend.h are on the CPU. An op may assume that its handles came from
// a CPU backend, any of them.

class CpuBuffer final : public DeviceBuffer {
 public:
  explicit CpuBuffer(size_t bytes) : memory_(bytes, "activations") {}
  size_t size_bytes() const noexcept override { return memory_.size(); }
  float* floats() noexcept { return memory_.floats(); }

 private:
  Memory memory_;
};

class CpuStep final : public DeviceStep {
 public:
  explicit CpuStep(const Step& step) : step_(step) {}
  const Step& host() const noexcept { return step_; }

 private:
  Step step_;
};

/// A weight in up to three forms: packed for linear(), as mapped for embed() and for formats
/// without a packed layout, float32 for vectors.
class CpuWeight final : public Weight {
 public:
  /// Packs in parallel on the pool.
  CpuWeight(const HostTensor& tensor, WeightRole role, ThreadPool& pool);

  int64_t n_rows() const noexcept override { return n_rows_; }
  int64_t n_cols() const noexcept override { return n_cols_; }
  DType dtype() const noexcept override { return dtype_; }
  size_t size_bytes() const noexcept override { return memory_.size(); }

  LinearWeight linear() const noexcept;
  const float* vector() const noexcept { return memory_.floats(); }  // WeightRole::vector only
  std::span<const std::byte> row(int64_t index) const noexcept;      // as in the file

 private:
  void pack(ThreadPool& pool);

  int64_t n_rows_;
  int64_t n_cols_;
  DType dtype_;
  std::span<const std::byte> mapped_;
  const PackedLayout* layout_ = nullptr;
  Memory memory_;
};

/// The floats of a view.
struct HostMatrix {
  float* data;
  int64_t n_rows;
  int64_t n_cols;
  int64_t stride;

  explicit HostMatrix(const Matrix& m)
      : data(static_cast<CpuBuffer*>(m.buffer)->floats() + m.offset),
        n_rows(m.n_rows),
        n_cols(m.n_cols),
        stride(m.stride) {}
  float* row(int64_t r) const noexcept { return data + r * stride; }
};

}  // namespace bactrian
