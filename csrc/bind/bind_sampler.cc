#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bind/bind.h"
#include "bind/sampler_params.h"
#include "sample/log_probabilities.h"
#include "sample/sampler.h"

namespace py = pybind11;
using namespace py::literals;

namespace bactrian {
namespace {

/// What Python holds as a Sampler. Calls without the GIL take turns.
struct SamplerHandle {
  explicit SamplerHandle(Sampler value) : sampler(std::move(value)) {}
  Sampler sampler;
  std::mutex mutex;
};

using FloatArray = py::array_t<float, py::array::c_style | py::array::forcecast>;

std::unique_ptr<SamplerHandle> make_sampler(const py::object& params, int32_t n_vocab) {
  return std::make_unique<SamplerHandle>(Sampler(to_sampler_params(params), n_vocab));
}

std::unique_ptr<SamplerHandle> clone(SamplerHandle& self) {
  const py::gil_scoped_release no_gil;
  const std::lock_guard lock(self.mutex);
  return std::make_unique<SamplerHandle>(self.sampler);
}

std::span<const uint32_t> mask_span(const py::array& mask) {
  if (!py::isinstance<py::array_t<uint32_t>>(mask) || mask.ndim() != 1 ||
      (mask.flags() & py::array::c_style) == 0 || mask.size() == 0) {
    fail(ErrorCode::invalid_argument,
         "allowed must be a contiguous uint32 array of one dimension, "
         "32 tokens to a word, but is ",
         mask.ndim(), "-dimensional of ", py::str(mask.dtype()).cast<std::string>());
  }
  return {static_cast<const uint32_t*>(mask.data()), static_cast<size_t>(mask.size())};
}

/// Rows [n, n_vocab]; throws Error(invalid_argument) for other shapes and element types.
FloatArray to_rows(const py::array& logits) {
  if (!py::isinstance<py::array_t<float>>(logits) || logits.ndim() != 2) {
    fail(ErrorCode::invalid_argument, "logits must be a float32 array [n_rows, n_vocab], but has ",
         logits.ndim(), " dimensions of ", py::str(logits.dtype()).cast<std::string>());
  }
  return FloatArray(logits);
}

std::span<const float> row(const FloatArray& logits, size_t i) {
  const auto n_vocab = static_cast<size_t>(logits.shape(1));
  return {logits.data() + i * n_vocab, n_vocab};
}

void accept(SamplerHandle& self, const py::object& tokens) {
  const bool is_one = PyIndex_Check(tokens.ptr()) != 0 && !py::hasattr(tokens, "__len__");
  const std::vector<int32_t> list = is_one ? to_tokens(py::make_tuple(tokens)) : to_tokens(tokens);
  const py::gil_scoped_release no_gil;
  const std::lock_guard lock(self.mutex);
  self.sampler.accept(list);
}

int32_t sample(SamplerHandle& self, const FloatArray& logits,
               const std::optional<py::array>& allowed) {
  if (logits.ndim() != 1) {
    fail(ErrorCode::invalid_argument, "logits must be one row [n_vocab], but has ", logits.ndim(),
         " dimensions");
  }
  const std::span<const float> values(logits.data(), static_cast<size_t>(logits.size()));
  const auto mask = allowed ? mask_span(*allowed) : std::span<const uint32_t>();
  const py::gil_scoped_release no_gil;
  const std::lock_guard lock(self.mutex);
  return self.sampler.sample(values, mask);
}

py::list probabilities(SamplerHandle& self) {
  std::vector<TokenProbability> all;
  {
    const py::gil_scoped_release no_gil;
    const std::lock_guard lock(self.mutex);
    all = self.sampler.probabilities();
  }
  py::list pairs;
  for (const TokenProbability& token : all) pairs.append(py::make_tuple(token.id, token.p));
  return pairs;
}

/// The token, or -1 if the logits of this row allow none.
int32_t sample_or_none(SamplerHandle& handle, std::span<const float> logits,
                       std::span<const uint32_t> mask) {
  const std::lock_guard lock(handle.mutex);
  try {
    return handle.sampler.sample(logits, mask);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::non_finite) throw;
    return -1;
  }
}

py::array_t<int32_t> sample_rows(
    const std::vector<SamplerHandle*>& samplers, const py::array& logits,
    const std::optional<std::vector<std::optional<py::array>>>& allowed) {
  const FloatArray rows = to_rows(logits);
  const size_t n = samplers.size();
  if (static_cast<size_t>(rows.shape(0)) != n || (allowed && allowed->size() != n)) {
    fail(ErrorCode::invalid_argument, "there are ", n, " samplers, but ", rows.shape(0),
         " rows of logits", allowed ? " and " + std::to_string(allowed->size()) + " masks" : "");
  }
  std::vector<std::span<const uint32_t>> masks(n);
  for (size_t i = 0; i < n; ++i) {
    if (samplers[i] == nullptr) {
      fail(ErrorCode::invalid_argument, "sampler ", i, " is None, but must be a Sampler");
    }
    if (allowed && (*allowed)[i]) masks[i] = mask_span(*(*allowed)[i]);
    samplers[i]->sampler.check_sizes(row(rows, i), masks[i]);
  }
  py::array_t<int32_t> tokens(static_cast<py::ssize_t>(n));
  int32_t* out = tokens.mutable_data();
  const py::gil_scoped_release no_gil;
  for (size_t i = 0; i < n; ++i) out[i] = sample_or_none(*samplers[i], row(rows, i), masks[i]);
  return tokens;
}

py::tuple log_probabilities_of_rows(const py::array& logits, int64_t n_top,
                                    const py::object& tokens) {
  const FloatArray rows = to_rows(logits);
  const std::vector<int32_t> ids = to_tokens(tokens);
  const int64_t n_rows = rows.shape(0);
  const int64_t n_vocab = rows.shape(1);
  if (n_top < 0 || n_top > n_vocab) {
    fail(ErrorCode::invalid_argument, "n_top is ", n_top, ", but must lie between 0 and ", n_vocab,
         ", the size of the vocabulary");
  }
  if (static_cast<int64_t>(ids.size()) != n_rows) {
    fail(ErrorCode::invalid_argument, "there are ", ids.size(), " tokens, but ", n_rows,
         " rows of logits");
  }
  for (const int32_t id : ids) {
    if (id < 0 || id >= n_vocab) {
      fail(ErrorCode::invalid_argument, "token id ", id, " is outside the vocabulary of ", n_vocab);
    }
  }
  py::array_t<int32_t> top_ids({n_rows, n_top});
  py::array_t<float> top_values({n_rows, n_top});
  py::array_t<float> values(n_rows);
  int32_t* id_out = top_ids.mutable_data();
  float* top_out = top_values.mutable_data();
  float* value_out = values.mutable_data();
  const auto width = static_cast<size_t>(n_top);
  {
    const py::gil_scoped_release no_gil;
    for (size_t i = 0; i < ids.size(); ++i) {
      value_out[i] = log_probabilities(row(rows, i), ids[i], {id_out + i * width, width},
                                       {top_out + i * width, width});
    }
  }
  return py::make_tuple(top_ids, top_values, values);
}

}  // namespace

void bind_sampler(py::module_& m) {
  py::class_<SamplerHandle>(m, "Sampler", py::is_final(),
                            "Sampler chain and its state for one sequence: last tokens, mirostat, "
                            "random position.")
      .def(py::init(&make_sampler), "params"_a, "n_vocab"_a,
           "``params`` as ``SamplingParams.native()`` gives them.\n\n"
           "Raises InvalidArgumentError for unknown names and values out of range.")
      .def_property_readonly(
          "seed", [](const SamplerHandle& self) { return self.sampler.seed(); },
          "The seed in use (chosen at random if the params ask for it).")
      .def("accept", &accept, "tokens"_a,
           "Advances the history without drawing (prompt tokens).\n\n"
           "Raises InvalidArgumentError for a token outside the vocabulary.")
      .def("sample", &sample, "logits"_a, "allowed"_a = py::none(),
           "Draws from one row of logits [n_vocab] and accepts the token.\n\n"
           "``allowed``: bit mask, one bit a token. Raises NonFiniteError for NaN or no finite\n"
           "logit.")
      .def("probabilities", &probabilities,
           "(token, probability) that survived the chain in the last draw, falling.")
      .def("clone", &clone, "A sampler that goes on from the same state by itself.");
  m.def("sample_rows", &sample_rows, "samplers"_a, "logits"_a, "allowed"_a = py::none(),
        "One draw per row in one call; row i belongs to ``samplers[i]``.\n\n"
        "A row without a usable logit gets -1 in place of a token and leaves the other rows\n"
        "alone. Raises InvalidArgumentError, before any draw, for sizes that don't agree.");
  m.def("log_probabilities", &log_probabilities_of_rows, "logits"_a, "n_top"_a, "tokens"_a,
        "Softmax of raw logits rows: top ids [n, n_top], their log-probabilities, and those of\n"
        "``tokens``. Raises NonFiniteError for NaN or no finite logit.");
}

}  // namespace bactrian
