#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <memory>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/thread_pool.h"
#include "kernels/select.h"
#include "random.h"

namespace bactrian::test {

/// A dense matrix on the host.
struct Rows {
  Rows(int64_t rows, int64_t cols)
      : n_rows(rows), n_cols(cols), values(static_cast<size_t>(rows * cols)) {}
  Rows(Random random, int64_t rows, int64_t cols)
      : n_rows(rows), n_cols(cols), values(random.floats(rows * cols)) {}

  float* row(int64_t r) { return values.data() + r * n_cols; }
  const float* row(int64_t r) const { return values.data() + r * n_cols; }
  Rows slice(int64_t begin, int64_t n) const {
    Rows part(n, n_cols);
    std::copy_n(row(begin), n * n_cols, part.values.data());
    return part;
  }
  bool same_bits(const Rows& other) const {
    return n_rows == other.n_rows && n_cols == other.n_cols &&
           std::memcmp(values.data(), other.values.data(), values.size() * sizeof(float)) == 0;
  }

  int64_t n_rows;
  int64_t n_cols;
  std::vector<float> values;
};

/// A CPU backend that keeps what is uploaded to it.
class Device {
 public:
  Device(const Kernels& kernels, int n_threads)
      : backend_(make_cpu_backend(std::make_shared<ThreadPool>(n_threads), kernels)) {}

  Backend& backend() { return *backend_; }

  /// Undefined contents; rows further apart than they are long, not at the buffer's start.
  Matrix matrix(int64_t n_rows, int64_t n_cols) {
    const int64_t stride = n_cols + 5;
    buffers_.push_back(backend_->allocate(static_cast<size_t>(3 + n_rows * stride) * 4));
    return {buffers_.back().get(), 3, n_rows, n_cols, stride};
  }
  /// Through a table of float32: embed() is the way of numbers to a device.
  Matrix upload(const Rows& rows) {
    Step step;
    for (int64_t r = 0; r < rows.n_rows; ++r) step.tokens.push_back(static_cast<int32_t>(r));
    step.positions.resize(step.tokens.size());
    const auto table = backend_->load(
        {"rows", DType::F32, rows.n_rows, rows.n_cols, std::as_bytes(std::span(rows.values))},
        WeightRole::table);
    const Matrix out = matrix(rows.n_rows, rows.n_cols);
    backend_->embed(*table, *backend_->make_step(step), out);
    return out;
  }
  Rows download(Matrix m) {
    Rows rows(m.n_rows, m.n_cols);
    backend_->download(m, rows.values.data());
    return rows;
  }
  std::unique_ptr<Weight> vector(const std::vector<float>& values) {
    return backend_->load({"vector", DType::F32, 1, static_cast<int64_t>(values.size()),
                           std::as_bytes(std::span(values))},
                          WeightRole::vector);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::list<std::shared_ptr<DeviceBuffer>> buffers_;
};

/// Every table of kernels this machine can run, with one thread and with three.
template <typename Body>
void for_each_device(const Body& body) {
  for (const std::string_view isa : supported_isas()) {
    for (const int n_threads : {1, 3}) {
      Device device(find_kernels(isa), n_threads);
      body(device);
    }
  }
}

}  // namespace bactrian::test
