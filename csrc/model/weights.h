#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "gguf/reader.h"

namespace bactrian {

/// Told the share of the work done, 0..1; may throw to cancel.
using Progress = std::function<void(double)>;

/// Takes tensors from a file to a device, by name, each with the shape it must have. A tensor that
/// is missing or of another shape throws Error(bad_file) naming it, what was expected and found.
class WeightLoader {
 public:
  WeightLoader(const GgufFile& file, Backend& backend, Progress progress);

  /// [n_rows, n_cols]; role is one of the matrix roles.
  std::unique_ptr<Weight> matrix(const std::string& name, int64_t n_rows, int64_t n_cols,
                                 WeightRole role = WeightRole::linear);
  std::unique_ptr<Weight> vector(const std::string& name, int64_t n);
  /// nullptr if the file has no such tensor.
  std::unique_ptr<Weight> optional_vector(const std::string& name, int64_t n);
  /// Host values of a small float32 tensor; empty if the file has no such tensor.
  std::vector<float> optional_host_vector(const std::string& name, int64_t n);

  const std::string& path() const noexcept { return file_.path(); }
  bool has(std::string_view name) const noexcept { return file_.find_tensor(name) != nullptr; }

  // Sums over the tensors taken so far.
  int64_t n_params() const noexcept { return n_params_; }
  int64_t file_bytes() const noexcept { return file_bytes_; }
  int64_t packed_bytes() const noexcept { return packed_bytes_; }

  /// Names of the tensors that nobody took, in file order.
  std::vector<std::string> unused() const;

 private:
  const TensorInfo& take(const std::string& name, std::initializer_list<int64_t> dims);
  std::unique_ptr<Weight> load(const TensorInfo& tensor, int64_t n_rows, int64_t n_cols,
                               WeightRole role);

  const GgufFile& file_;
  Backend& backend_;
  Progress progress_;
  std::set<std::string_view> taken_;
  int64_t total_bytes_ = 0;
  int64_t n_params_ = 0;
  int64_t file_bytes_ = 0;
  int64_t packed_bytes_ = 0;
};

}  // namespace bactrian
