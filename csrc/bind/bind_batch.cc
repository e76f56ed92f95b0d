#include <string>

#include "base/error.h"
#include "bind/bind.h"
#include "runtime/batch.h"

namespace py = pybind11;
using namespace py::literals;

namespace bactrian {
namespace {

Batch make_batch(bool embedding, const std::string& pooling) {
  const Pooling parsed = parse_pooling(pooling);
  return embedding ? Batch::for_embeddings(parsed) : Batch::for_tokens();
}

LogitsRows parse_logits(const std::string& name) {
  if (name == "none") return LogitsRows::none;
  if (name == "last") return LogitsRows::last;
  if (name == "all") return LogitsRows::all;
  fail(ErrorCode::invalid_argument, "logits is \"", name, "\", but must be none, last or all");
}

}  // namespace

void bind_batch(py::module_& m) {
  py::class_<Batch>(m, "Batch", py::is_final(),
                    "Rows for one decode: either tokens of sequences (logits) or whole inputs "
                    "(embeddings).")
      .def(py::init(&make_batch), py::kw_only(), "embedding"_a = false, "pooling"_a = "mean",
           "Pooling (none, mean, cls or last) is for embedding batches.")
      .def_property_readonly(
          "embedding", [](const Batch& self) { return self.kind() == BatchKind::embeddings; },
          "Whether this batch takes inputs to embed.")
      .def_property_readonly(
          "n_tokens", [](const Batch& self) { return self.tokens().size(); },
          "Tokens added so far.")
      .def(
          "add_tokens",
          [](Batch& self, int32_t sequence, py::handle tokens, const std::string& logits) {
            self.add_tokens(sequence, to_tokens(tokens), parse_logits(logits));
          },
          "sequence"_a, "tokens"_a, py::kw_only(), "logits"_a = "last",
          "Appends tokens to a sequence of the context.\n\n"
          "``logits`` says which of them get a row of logits: none, last or all. Raises\n"
          "InvalidArgumentError in an embedding batch, for a negative sequence or no tokens.")
      .def(
          "add_input", [](Batch& self, py::handle tokens) { self.add_input(to_tokens(tokens)); },
          "tokens"_a,
          "Adds one whole input to embed.\n\n"
          "Raises InvalidArgumentError in a token batch or if empty.")
      .def(
          "__len__", [](const Batch& self) { return self.n_outputs(); },
          "Number of rows of output: rows with logits, or inputs.");
}

}  // namespace bactrian
