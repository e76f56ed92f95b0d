#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "model/architecture.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace bactrian {

/// One model's hyperparameters and weights on a device. Immutable; any number of contexts and
/// threads may share it. Keeps the file mapped.
class Model {
 public:
  /// Reads, checks and packs. Errors as read_hparams() and WeightLoader; `progress` may throw.
  static std::shared_ptr<const Model> load(std::shared_ptr<const GgufFile> file, Backend& backend,
                                           const RopeOverrides& overrides = {},
                                           const Progress& progress = {});

  const GgufFile& file() const noexcept { return *file_; }
  const Hparams& hparams() const noexcept { return hparams_; }
  const Architecture& architecture() const noexcept { return *architecture_; }

  int64_t n_params() const noexcept { return n_params_; }
  /// Tensor data in the file, of the tensors in use.
  int64_t file_bytes() const noexcept { return file_bytes_; }
  /// Memory held beyond the mapped file.
  int64_t packed_bytes() const noexcept { return packed_bytes_; }
  /// Tensors of the file that this architecture has no use for.
  const std::vector<std::string>& unused_tensors() const noexcept { return unused_tensors_; }

  /// Shape of a KV cache for this model. Throws Error(invalid_argument) for element types other
  /// than F32, F16 and Q8_0, and for Q8_0 with head sizes that 32 does not divide.
  KvShape kv_shape(int64_t n_pages, DType dtype_k, DType dtype_v) const;

 private:
  Model() = default;

  std::shared_ptr<const GgufFile> file_;
  Hparams hparams_;
  std::unique_ptr<Architecture> architecture_;
  int64_t n_params_ = 0;
  int64_t file_bytes_ = 0;
  int64_t packed_bytes_ = 0;
  std::vector<std::string> unused_tensors_;
};

}  // namespace bactrian
