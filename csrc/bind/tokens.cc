#include <pybind11/numpy.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "bind/bind.h"

namespace py = pybind11;

namespace bactrian {

std::vector<int32_t> to_tokens(py::handle object) {
  // numpy reads lists, ranges and arrays of any width alike.
  const py::array array = py::array::ensure(object);
  if (!array) throw py::error_already_set();
  if (array.ndim() == 1 && array.size() == 0) return {};
  const char kind = array.dtype().kind();
  if (array.ndim() != 1 || (kind != 'i' && kind != 'u')) {
    fail(ErrorCode::invalid_argument, "tokens must be a sequence of ints, but have ", array.ndim(),
         array.ndim() == 1 ? " dimension and kind '" : " dimensions and kind '", kind, "'");
  }
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int32_t>::min();
  const auto wide = py::array_t<int64_t, py::array::c_style | py::array::forcecast>(array);
  std::vector<int32_t> tokens(static_cast<size_t>(wide.size()));
  const int64_t* source = wide.data();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (source[i] < kMin || source[i] > kMax) {
      fail(ErrorCode::invalid_argument, "token ", i, " is ", source[i],
           ", but token ids are 32-bit integers");
    }
    tokens[i] = static_cast<int32_t>(source[i]);
  }
  return tokens;
}

}  // namespace bactrian
