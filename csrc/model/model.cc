#include "model/model.h"

#include "base/error.h"
#include "model/registry.h"

namespace bactrian {
namespace {

void check_kv_dtype(const char* argument, DType dtype, int d_head) {
  const DTypeInfo& info = dtype_info(dtype);
  if (dtype != DType::F32 && dtype != DType::F16 && dtype != DType::Q8_0) {
    fail(ErrorCode::invalid_argument, argument, " is ", info.name,
         ", but the KV cache holds F32, F16 or Q8_0");
  }
  if (d_head % info.block_elems != 0) {
    fail(ErrorCode::invalid_argument, argument, " is ", info.name, ", which needs head sizes in ",
         "multiples of ", info.block_elems, "; this model's is ", d_head, ": use F16 or F32");
  }
}

}  // namespace

std::shared_ptr<const Model> Model::load(std::shared_ptr<const GgufFile> file, Backend& backend,
                                         const RopeOverrides& overrides, const Progress& progress) {
  const std::shared_ptr<Model> model(new Model());
  model->file_ = std::move(file);
  // First of all: an unknown architecture should not be blamed for the keys it lacks.
  const ArchitectureFactory make =
      find_architecture(model->file_->require_string("general.architecture"), model->file_->path());
  model->hparams_ = read_hparams(*model->file_, overrides);
  WeightLoader loader(*model->file_, backend, progress);
  model->architecture_ = make(model->hparams_, loader);
  model->n_params_ = loader.n_params();
  model->file_bytes_ = loader.file_bytes();
  model->packed_bytes_ = loader.packed_bytes();
  model->unused_tensors_ = loader.unused();
  if (progress) progress(1.0);
  return model;
}

KvShape Model::kv_shape(int64_t n_pages, DType dtype_k, DType dtype_v) const {
  check_kv_dtype("dtype_k", dtype_k, hparams_.d_head_k);
  check_kv_dtype("dtype_v", dtype_v, hparams_.d_head_v);
  return {.n_layer = hparams_.n_layer,
          .n_head_kv = hparams_.n_head_kv,
          .d_head_k = hparams_.d_head_k,
          .d_head_v = hparams_.d_head_v,
          .n_pages = n_pages,
          .dtype_k = dtype_k,
          .dtype_v = dtype_v};
}

}  // namespace bactrian
