#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/thread_pool.h"
#include "bind/bind.h"

namespace py = pybind11;
using namespace py::literals;

namespace bactrian {
namespace {

ModelHandle load_model(const GgufHandle& file, int n_threads,
                       std::optional<std::string> rope_scaling, std::optional<double> rope_scale,
                       std::optional<double> rope_freq_base,
                       const std::optional<py::function>& progress) {
  Progress report;
  if (progress) {
    report = [&callback = *progress](double share) {
      const py::gil_scoped_acquire gil;
      callback(share);
    };
  }
  const RopeOverrides overrides{std::move(rope_scaling), rope_scale, rope_freq_base};
  const std::shared_ptr<const GgufFile> source = file.file;
  const py::gil_scoped_release no_gil;
  const auto backend = make_cpu_backend(std::make_shared<ThreadPool>(resolve_threads(n_threads)));
  return {Model::load(source, *backend, overrides, report)};
}

size_t kv_bytes_per_token(const ModelHandle& self, const std::string& dtype_k,
                          const std::string& dtype_v) {
  const KvShape shape =
      self.model->kv_shape(1, to_dtype("dtype_k", dtype_k), to_dtype("dtype_v", dtype_v));
  return shape.page_bytes() / kPageTokens;
}

/// A read-only property that is one hyperparameter.
template <typename T>
auto hparam(T Hparams::* member) {
  return [member](const ModelHandle& self) { return self.model->hparams().*member; };
}

}  // namespace

DType to_dtype(const char* argument, const std::string& name) {
  const DTypeInfo* info = find_dtype(std::string_view(name));
  if (info == nullptr) {
    fail(ErrorCode::invalid_argument, argument, " is \"", name, "\", but must be one of ",
         dtype_names());
  }
  return info->dtype;
}

void bind_model(py::module_& m) {
  py::class_<ModelHandle>(m, "Model", py::is_final(),
                          "Weights of one model, shared by any number of contexts.")
      .def(py::init(&load_model), "file"_a, py::kw_only(), "n_threads"_a = 0,
           "rope_scaling"_a = py::none(), "rope_scale"_a = py::none(),
           "rope_freq_base"_a = py::none(), "progress"_a = py::none(),
           "Packs the weights; ``progress`` gets 0..1 and may raise to cancel.\n\n"
           "``rope_scaling`` (none, linear, yarn), ``rope_scale`` (factor by which the context is\n"
           "extended) and ``rope_freq_base`` replace what the file says. Raises FileFormatError,\n"
           "UnsupportedError, InvalidArgumentError or OutOfMemoryError.")
      .def_property_readonly("architecture", hparam(&Hparams::architecture))
      .def_property_readonly("n_vocab", hparam(&Hparams::n_vocab))
      .def_property_readonly("n_embd", hparam(&Hparams::n_embd))
      .def_property_readonly("n_layer", hparam(&Hparams::n_layer))
      .def_property_readonly("n_head", hparam(&Hparams::n_head))
      .def_property_readonly("n_head_kv", hparam(&Hparams::n_head_kv))
      .def_property_readonly("n_ctx_train", hparam(&Hparams::n_ctx_train))
      .def_property_readonly("n_ctx_max", hparam(&Hparams::n_ctx_max))
      .def_property_readonly("causal", hparam(&Hparams::causal))
      .def_property_readonly("pooling",
                             [](const ModelHandle& self) -> std::optional<std::string> {
                               const auto pooling = self.model->hparams().pooling;
                               if (!pooling) return std::nullopt;
                               return std::string(pooling_name(*pooling));
                             })
      .def_property_readonly("n_params",
                             [](const ModelHandle& self) { return self.model->n_params(); })
      .def_property_readonly("file_bytes",
                             [](const ModelHandle& self) { return self.model->file_bytes(); })
      .def_property_readonly("packed_bytes",
                             [](const ModelHandle& self) { return self.model->packed_bytes(); })
      .def_property_readonly("unused_tensors",
                             [](const ModelHandle& self) { return self.model->unused_tensors(); })
      .def("kv_bytes_per_token", &kv_bytes_per_token, "dtype_k"_a = "F16", "dtype_v"_a = "F16",
           "Bytes that one token takes in the KV cache.");
}

}  // namespace bactrian
