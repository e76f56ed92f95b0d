#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "bind/bind.h"
#include "quant/format.h"

namespace py = pybind11;
using namespace py::literals;

namespace bactrian {
namespace {

/// An array in C order and the shape that it has after conversion.
template <typename T>
struct Rows {
  py::array_t<T, py::array::c_style> array;
  std::vector<py::ssize_t> converted_shape;
};

/// Of the last dimension, each `block` elements become `per_block`.
template <typename T>
Rows<T> to_rows(const char* argument, const py::array& given, const DTypeInfo& info, int block,
                int per_block) {
  if (!py::isinstance<py::array_t<T>>(given)) {
    fail(ErrorCode::invalid_argument, argument, " must be an array of ",
         py::str(py::dtype::of<T>()).template cast<std::string>(), ", but is one of ",
         py::str(given.dtype()).template cast<std::string>());
  }
  const py::ssize_t n_dims = given.ndim();
  if (n_dims == 0 || given.shape(n_dims - 1) % block != 0) {
    fail(ErrorCode::invalid_argument, "the last dimension of ", argument, " is ",
         n_dims == 0 ? 0 : given.shape(n_dims - 1), ", but for ", info.name,
         " it must be a multiple of ", block);
  }
  Rows<T> rows{given, {given.shape(), given.shape() + n_dims}};
  rows.converted_shape.back() = rows.converted_shape.back() / block * per_block;
  return rows;
}

py::array_t<float> dequantize(const std::string& dtype, const py::array& data) {
  const DTypeInfo& info = dtype_info(to_dtype("dtype", dtype));
  const auto rows = to_rows<uint8_t>("data", data, info, info.block_bytes, info.block_elems);
  py::array_t<float> values(rows.converted_shape);
  const auto* source = reinterpret_cast<const std::byte*>(rows.array.data());
  float* target = values.mutable_data();
  const int64_t n = values.size();
  const py::gil_scoped_release no_gil;
  format(info.dtype).dequantize(source, target, n);
  return values;
}

py::array_t<uint8_t> quantize(const std::string& dtype, const py::array& values) {
  const DTypeInfo& info = dtype_info(to_dtype("dtype", dtype));
  const auto rows = to_rows<float>("values", values, info, info.block_elems, info.block_bytes);
  py::array_t<uint8_t> data(rows.converted_shape);
  const float* source = rows.array.data();
  auto* target = reinterpret_cast<std::byte*>(data.mutable_data());
  const int64_t n = rows.array.size();
  const py::gil_scoped_release no_gil;
  format(info.dtype).quantize(source, target, n);
  return data;
}

}  // namespace

void bind_quant(py::module_& m) {
  m.def(
      "dtype_names",
      [] {
        // One string, comma separated, is what error messages need; a list is what Python needs.
        return py::str(std::string(dtype_names())).attr("split")(", ");
      },
      "Tensor formats this engine reads.");
  m.def("dequantize", &dequantize, "dtype"_a, "data"_a,
        "Values of quantised rows: uint8 [..., row_bytes] -> float32 [..., n_cols].\n\n"
        "Raises InvalidArgumentError for an unknown dtype or rows that aren't whole blocks.");
  m.def("quantize", &quantize, "dtype"_a, "values"_a,
        "Round-to-nearest quantisation: float32 [..., n_cols] -> uint8 [..., row_bytes].\n\n"
        "Raises InvalidArgumentError for an unknown dtype or rows that aren't whole blocks.");
}

}  // namespace bactrian
