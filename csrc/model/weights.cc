#include "model/weights.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/error.h"

namespace bactrian {
namespace {

/// "[576, 1536]", fastest dimension first as in the file.
template <typename Range>
std::string format_dims(const Range& dims) {
  std::ostringstream out;
  out << '[';
  const char* separator = "";
  for (const int64_t dim : dims) {
    out << separator << dim;
    separator = ", ";
  }
  out << ']';
  return out.str();
}

}  // namespace

WeightLoader::WeightLoader(const GgufFile& file, Backend& backend, Progress progress)
    : file_(file), backend_(backend), progress_(std::move(progress)) {
  for (const TensorInfo& tensor : file_.tensors()) {
    total_bytes_ += static_cast<int64_t>(tensor.data.size());
  }
}

std::unique_ptr<Weight> WeightLoader::matrix(const std::string& name, int64_t n_rows,
                                             int64_t n_cols, WeightRole role) {
  return load(take(name, {n_cols, n_rows}), n_rows, n_cols, role);
}

std::unique_ptr<Weight> WeightLoader::vector(const std::string& name, int64_t n) {
  return load(take(name, {n}), 1, n, WeightRole::vector);
}

std::unique_ptr<Weight> WeightLoader::optional_vector(const std::string& name, int64_t n) {
  return has(name) ? vector(name, n) : nullptr;
}

std::vector<float> WeightLoader::optional_host_vector(const std::string& name, int64_t n) {
  if (!has(name)) return {};
  const TensorInfo& tensor = take(name, {n});
  if (tensor.dtype != DType::F32) {
    fail(ErrorCode::unsupported, file_.path(), ": tensor ", name, " is ",
         dtype_info(tensor.dtype).name, ", but must be F32");
  }
  std::vector<float> values(static_cast<size_t>(n));
  std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(float));
  return values;
}

std::vector<std::string> WeightLoader::unused() const {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : file_.tensors()) {
    if (!taken_.contains(tensor.name)) names.emplace_back(tensor.name);
  }
  return names;
}

const TensorInfo& WeightLoader::take(const std::string& name, std::initializer_list<int64_t> dims) {
  const TensorInfo* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    fail(ErrorCode::bad_file, file_.path(), ": tensor ", name, " is missing; expected shape ",
         format_dims(dims));
  }
  // Writers may pad the shape with ones.
  std::vector<int64_t> found = tensor->dims;
  while (found.size() > dims.size() && found.back() == 1) found.pop_back();
  if (!std::equal(found.begin(), found.end(), dims.begin(), dims.end())) {
    fail(ErrorCode::bad_file, file_.path(), ": tensor ", name, " has shape ",
         format_dims(tensor->dims), ", expected ", format_dims(dims));
  }
  taken_.insert(tensor->name);
  n_params_ += tensor->n_elements();
  file_bytes_ += static_cast<int64_t>(tensor->data.size());
  return *tensor;
}

std::unique_ptr<Weight> WeightLoader::load(const TensorInfo& tensor, int64_t n_rows, int64_t n_cols,
                                           WeightRole role) {
  auto weight =
      backend_.load({std::string(tensor.name), tensor.dtype, n_rows, n_cols, tensor.data}, role);
  packed_bytes_ += static_cast<int64_t>(weight->size_bytes());
  if (progress_) progress_(static_cast<double>(file_bytes_) / static_cast<double>(total_bytes_));
  return weight;
}

}  // namespace bactrian
