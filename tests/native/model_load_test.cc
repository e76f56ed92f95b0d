#include <algorithm>
#include <memory>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "check.h"
#include "model/model.h"
#include "tiny_model.h"

namespace bactrian {
namespace {

using test::GgufWriter;

std::shared_ptr<const Model> load(const GgufWriter& writer, const Progress& progress = {}) {
  const test::TempGguf file(writer);
  const auto backend = make_cpu_backend(std::make_shared<ThreadPool>(1));
  return Model::load(GgufFile::open(file.path()), *backend, {}, progress);
}

GgufWriter without_tensor(const std::string& name) {
  GgufWriter writer = test::tiny_llama();
  writer.tensors.erase(name);
  return writer;
}

TEST(model_counts_parameters_and_bytes) {
  const GgufWriter writer = test::tiny_llama();
  int64_t n_params = 0;
  for (const auto& [name, tensor] : writer.tensors) {
    n_params += static_cast<int64_t>(tensor.values.size());
  }
  const auto model = load(writer);
  CHECK_EQ(model->n_params(), n_params);
  CHECK_EQ(model->file_bytes(), n_params * 4);
  CHECK(model->packed_bytes() > 0);
  CHECK(model->unused_tensors().empty());
}

TEST(model_names_a_missing_tensor) {
  for (const char* name : {"token_embd.weight", "blk.1.attn_k.weight", "blk.0.ffn_norm.weight",
                           "output_norm.weight"}) {
    CHECK_ERROR(load(without_tensor(name)), ErrorCode::bad_file, name);
  }
}

TEST(model_names_a_tensor_of_the_wrong_shape) {
  GgufWriter writer = test::tiny_llama();
  writer.add_random("blk.1.ffn_down.weight", {32, 48}, 0.0f, 1.0f);
  CHECK_ERROR(load(writer), ErrorCode::bad_file,
              "tensor blk.1.ffn_down.weight has shape [32, 48], expected [48, 32]");
  writer = test::tiny_llama({.biases = true});
  writer.add_random("blk.0.attn_q.bias", {31}, 0.0f, 1.0f);
  CHECK_ERROR(load(writer), ErrorCode::bad_file, "blk.0.attn_q.bias");
}

TEST(model_takes_shapes_padded_with_ones) {
  GgufWriter writer = test::tiny_llama();
  writer.tensors["output_norm.weight"].dims = {32, 1};
  const auto model = load(writer);
  CHECK_EQ(model->hparams().n_embd, 32);
}

TEST(model_lists_tensors_it_has_no_use_for) {
  GgufWriter writer = test::tiny_llama();
  writer.add_random("blk.0.attn_rot_embd.weight", {4}, 0.0f, 1.0f);
  const auto unused = load(writer)->unused_tensors();
  CHECK_EQ(unused.size(), size_t{1});
  CHECK_EQ(unused.front(), "blk.0.attn_rot_embd.weight");
}

TEST(model_refuses_bad_frequency_factors) {
  GgufWriter writer = test::tiny_llama();
  writer.tensors["rope_freqs.weight"] = {{4}, {1.0f, 1.0f, 0.0f, 1.0f}};
  CHECK_ERROR(load(writer), ErrorCode::bad_file, "rope_freqs.weight");
  writer.tensors["rope_freqs.weight"] = {{3}, {1.0f, 1.0f, 1.0f}};
  CHECK_ERROR(load(writer), ErrorCode::bad_file, "expected [4]");
}

TEST(model_names_the_known_architectures) {
  GgufWriter writer = test::tiny_llama();
  writer.keys["general.architecture"] = std::string("dromedary");
  CHECK_ERROR(load(writer), ErrorCode::unsupported,
              "architecture \"dromedary\" is not supported; supported are: llama");
}

TEST(model_progress_rises_to_one_and_may_cancel) {
  std::vector<double> shares;
  load(test::tiny_llama(), [&](double share) { shares.push_back(share); });
  CHECK(std::is_sorted(shares.begin(), shares.end()));
  CHECK(shares.front() > 0.0);
  CHECK_EQ(shares.back(), 1.0);
  CHECK_ERROR(load(test::tiny_llama(), [](double) { fail(ErrorCode::aborted, "enough"); }),
              ErrorCode::aborted, "enough");
}

TEST(model_checks_the_types_of_its_kv_cache) {
  const auto model = load(test::tiny_llama());
  const KvShape shape = model->kv_shape(3, DType::F16, DType::F32);
  // 2 layers, 64 tokens, 2 heads of 8 elements in 2 and in 4 bytes.
  CHECK_EQ(shape.page_bytes(), size_t{2 * 64 * 2 * 8 * (2 + 4)});
  CHECK_ERROR(model->kv_shape(3, DType::Q4_0, DType::F16), ErrorCode::invalid_argument,
              "dtype_k is Q4_0");
  CHECK_ERROR(model->kv_shape(3, DType::F16, DType::Q8_0), ErrorCode::invalid_argument,
              "multiples of 32; this model's is 8");
}

}  // namespace
}  // namespace bactrian
