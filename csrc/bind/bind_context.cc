#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <chrono>
#include <optional>
#include <string>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "base/kv_page.h"
#include "base/thread_pool.h"
#include "bind/bind.h"
#include "runtime/context.h"

namespace py = pybind11;
using namespace py::literals;

namespace bactrian {
namespace {

constexpr auto kSignalInterval = std::chrono::milliseconds(50);

/// What Python holds as a Context. Its calls wait for a running decode, so they give up the GIL,
/// which that decode may need to look for signals.
struct ContextHandle {
  std::shared_ptr<Context> context;
  int n_threads = 0;
};

using WithoutGil = py::call_guard<py::gil_scoped_release>;

ContextHandle make_context(const ModelHandle& model, int64_t n_ctx, int64_t n_ubatch, int n_threads,
                           const std::string& dtype_k, const std::string& dtype_v) {
  const ContextOptions options{.n_ctx = n_ctx,
                               .n_ubatch = n_ubatch,
                               .dtype_k = to_dtype("dtype_k", dtype_k),
                               .dtype_v = to_dtype("dtype_v", dtype_v)};
  const int resolved = resolve_threads(n_threads);
  const std::shared_ptr<const Model> source = model.model;
  const py::gil_scoped_release no_gil;
  auto backend = make_cpu_backend(std::make_shared<ThreadPool>(resolved));
  return {std::make_shared<Context>(source, std::move(backend), options), resolved};
}

bool is_main_thread() {
  const py::object main = py::module_::import("threading").attr("main_thread")();
  return main.attr("ident").cast<unsigned long>() == PyThread_get_thread_ident();
}

/// Lets Python's signal handlers run every now and then, so that Ctrl-C ends a decode. Only the
/// main thread may run them.
std::function<void()> signal_check() {
  if (!is_main_thread()) return {};
  return [next = std::chrono::steady_clock::now() + kSignalInterval]() mutable {
    const auto now = std::chrono::steady_clock::now();
    if (now < next) return;
    next = now + kSignalInterval;
    const py::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
}

Output decode(ContextHandle& self, const Batch& batch) {
  const Batch copy = batch;  // other threads may add to the batch meanwhile
  const std::shared_ptr<Context> context = self.context;
  const std::function<void()> interrupt = signal_check();
  const py::gil_scoped_release no_gil;
  return context->decode(copy, interrupt);
}

/// A view of rows of the output that shares its memory.
py::array_t<float> view(const Output& output, int64_t row, std::vector<py::ssize_t> shape) {
  using Owner = std::shared_ptr<float[]>;
  auto owner = std::make_unique<Owner>(output.values);
  const py::capsule base(owner.get(), [](void* p) { delete static_cast<Owner*>(p); });
  owner.release();
  return py::array_t<float>(std::move(shape), output.values.get() + row * output.n_cols, base);
}

py::array_t<float> logits(const Output& output) {
  if (output.kind != BatchKind::tokens) {
    fail(ErrorCode::invalid_argument,
         "this output is of an embedding batch and has no logits: use embeddings");
  }
  return view(output, 0, {output.n_rows, output.n_cols});
}

py::list embeddings(const Output& output) {
  if (output.kind != BatchKind::embeddings) {
    fail(ErrorCode::invalid_argument,
         "this output is of a token batch and has no embeddings: use logits");
  }
  py::list inputs;
  int64_t row = 0;
  for (const int64_t n_rows : output.input_rows) {
    inputs.append(output.pooling == Pooling::none ? view(output, row, {n_rows, output.n_cols})
                                                  : view(output, row, {output.n_cols}));
    row += n_rows;
  }
  return inputs;
}

py::array_t<int32_t> sequence_tokens(const ContextHandle& self, int32_t sequence) {
  std::vector<int32_t> tokens;
  {
    const py::gil_scoped_release no_gil;
    tokens = self.context->tokens(sequence);
  }
  return py::array_t<int32_t>(static_cast<py::ssize_t>(tokens.size()), tokens.data());
}

int64_t reuse_prefix(ContextHandle& self, int32_t sequence, py::handle tokens) {
  const std::vector<int32_t> wanted = to_tokens(tokens);
  const py::gil_scoped_release no_gil;
  return self.context->reuse_prefix(sequence, wanted);
}

void bind_output(py::module_& m) {
  py::class_<Output>(
      m, "Output", py::is_final(),
      "Results of one decode. The arrays own their memory: later decodes never change them.")
      .def_property_readonly("logits", &logits,
                             "[n_rows, n_vocab], rows in the order added.\n\n"
                             "Raises InvalidArgumentError for embedding batches.")
      .def_property_readonly("embeddings", &embeddings,
                             "Per input [n_embd], or [n_tokens, n_embd] with pooling none; not "
                             "normalised.\n\nRaises InvalidArgumentError for token batches.");
}

}  // namespace

void bind_context(py::module_& m) {
  bind_output(m);
  py::class_<ContextHandle>(m, "Context", py::is_final(),
                            "KV cache and working memory for one model. One decode at a time; any "
                            "thread.")
      .def(py::init(&make_context), "model"_a, py::kw_only(), "n_ctx"_a = 0, "n_ubatch"_a = 512,
           "n_threads"_a = 0, "dtype_k"_a = "F16", "dtype_v"_a = "F16",
           "``n_ctx``: tokens of KV cache for all sequences together, 0 = the model's context.\n"
           "``n_ubatch``: rows of one forward pass. ``dtype_k``, ``dtype_v``: F32, F16 or Q8_0.")
      .def_property_readonly("n_ctx", [](const ContextHandle& c) { return c.context->n_ctx(); })
      .def_property_readonly("n_pages", [](const ContextHandle& c) { return c.context->n_pages(); })
      .def_property_readonly("page_tokens", [](const ContextHandle&) { return kPageTokens; })
      .def_property_readonly(
          "n_free_pages",
          py::cpp_function([](const ContextHandle& c) { return c.context->n_free_pages(); },
                           WithoutGil()),
          "Pages that no sequence holds, those with a reusable prefix included.")
      .def_property_readonly("n_threads", [](const ContextHandle& c) { return c.n_threads; })
      .def_property_readonly("kv_bytes",
                             [](const ContextHandle& c) { return c.context->kv_bytes(); })
      .def("decode", &decode, "batch"_a,
           "Runs the batch. On any error all sequences are as they were before the call.\n\n"
           "Raises ContextOverflowError (no pages, or a sequence beyond the model's context),\n"
           "AbortedError, InvalidArgumentError (token id out of range), UnsupportedError (tokens\n"
           "for a model that isn't causal).")
      .def(
          "abort", [](const ContextHandle& c) { c.context->abort(); },
          "Interrupts the decode that runs now, from any thread; without one, does nothing.")
      .def(
          "length", [](const ContextHandle& c, int32_t s) { return c.context->length(s); },
          "sequence"_a, "Tokens held by a sequence; 0 for one never used.", WithoutGil())
      .def("tokens", &sequence_tokens, "sequence"_a, "The tokens held by a sequence.")
      .def(
          "sequences", [](const ContextHandle& c) { return c.context->sequences(); },
          "Sequences that hold tokens, ascending.", WithoutGil())
      .def(
          "truncate",
          [](const ContextHandle& c, int32_t s, int64_t n) { c.context->truncate(s, n); },
          "sequence"_a, "n_tokens"_a, "Keeps the first n_tokens of a sequence.", WithoutGil())
      .def(
          "remove", [](const ContextHandle& c, int32_t s) { c.context->remove(s); }, "sequence"_a,
          "Empties a sequence.", WithoutGil())
      .def(
          "fork",
          [](const ContextHandle& c, int32_t source, int32_t target, std::optional<int64_t> n) {
            c.context->fork(source, target, n);
          },
          "source"_a, "target"_a, "n_tokens"_a = py::none(),
          "Target becomes the first n_tokens of source; pages are shared, not copied.",
          WithoutGil())
      .def(
          "shift",
          [](const ContextHandle& c, int32_t s, int64_t n_keep, int64_t n_discard) {
            c.context->shift(s, n_keep, n_discard);
          },
          "sequence"_a, "n_keep"_a, "n_discard"_a,
          "Drops tokens [n_keep, n_keep + n_discard); later ones move down and keep their values.",
          WithoutGil())
      .def(
          "reuse_prefix", &reuse_prefix, "sequence"_a, "tokens"_a,
          "Gives an empty sequence the longest cached prefix of ``tokens``; returns its length.\n\n"
          "Always leaves at least one token to evaluate.")
      .def(
          "check", [](const ContextHandle& c) { c.context->check(); },
          "Verifies the page accounting; raises BactrianError naming what is inconsistent.",
          WithoutGil());
}

}  // namespace bactrian
