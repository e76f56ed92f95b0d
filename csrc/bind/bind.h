#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "model/model.h"

// The Python module `bactrian._core`: one bind_<class>.cc for each exposed class, each adding it
// with its docstrings. python/bactrian/_core.pyi is the contract.

namespace bactrian {

/// What Python holds as a GgufFile.
struct GgufHandle {
  std::shared_ptr<const GgufFile> file;
};

/// What Python holds as a Model.
struct ModelHandle {
  std::shared_ptr<const Model> model;
};

void bind_error(pybind11::module_& m);
void bind_info(pybind11::module_& m);
void bind_quant(pybind11::module_& m);
void bind_gguf(pybind11::module_& m);
void bind_model(pybind11::module_& m);
void bind_batch(pybind11::module_& m);
void bind_context(pybind11::module_& m);
void bind_sampler(pybind11::module_& m);

/// Token ids from a sequence of ints or a one-dimensional integer array. Throws
/// Error(invalid_argument) for anything else and for ids that int32 can't hold.
std::vector<int32_t> to_tokens(pybind11::handle object);

/// The element type of that name; throws Error(invalid_argument) naming the argument.
DType to_dtype(const char* argument, const std::string& name);

/// 0 means the default; throws Error(invalid_argument) if out of range.
int resolve_threads(int n_threads);

}  // namespace bactrian
