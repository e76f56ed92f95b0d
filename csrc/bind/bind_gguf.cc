#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include "bind/bind.h"

namespace py = pybind11;
using namespace py::literals;

namespace bactrian {
namespace {

/// What Python holds as a TensorInfo; keeps the file it points into.
struct TensorHandle {
  std::shared_ptr<const GgufFile> file;
  const TensorInfo* info;
};

template <typename T>
T steal_or_throw(PyObject* object) {
  if (object == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<T>(object);
}

/// Text of a file as str; bytes that are not UTF-8 survive as surrogates.
py::str to_str(std::string_view text) {
  return steal_or_throw<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

/// str, bytes or os.PathLike as the operating system spells it.
std::string to_path(const py::object& path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(encoded);
}

py::str from_path(const std::string& path) {
  return steal_or_throw<py::str>(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

template <typename T>
py::object to_numpy(const std::vector<T>& values) {
  py::array_t<T> array(static_cast<py::ssize_t>(values.size()));
  std::copy(values.begin(), values.end(), array.mutable_data());
  return array;
}

py::object to_list(const std::vector<std::string_view>& values) {
  py::list list(values.size());
  for (size_t i = 0; i < values.size(); ++i) list[i] = to_str(values[i]);
  return list;
}

struct ToPython {
  py::object operator()(int64_t value) const { return py::int_(value); }
  py::object operator()(double value) const { return py::float_(value); }
  py::object operator()(bool value) const { return py::bool_(value); }
  py::object operator()(std::string_view value) const { return to_str(value); }
  py::object operator()(const MetadataArray& array) const { return std::visit(*this, array); }
  py::object operator()(const std::vector<std::string_view>& values) const {
    return to_list(values);
  }
  template <typename T>
  py::object operator()(const std::vector<T>& values) const {
    return to_numpy(values);
  }
};

GgufHandle open_file(const py::object& path) {
  const std::string name = to_path(path);
  const py::gil_scoped_release no_gil;
  return {GgufFile::open(name)};
}

py::dict metadata(const GgufHandle& self) {
  py::dict all;
  for (const GgufFile::KeyValue& pair : self.file->metadata()) {
    all[to_str(pair.key)] = std::visit(ToPython{}, pair.value);
  }
  return all;
}

py::list tensors(const GgufHandle& self) {
  py::list all;
  for (const TensorInfo& info : self.file->tensors()) all.append(TensorHandle{self.file, &info});
  return all;
}

py::list paths(const GgufHandle& self) {
  py::list all;
  for (const std::string& path : self.file->paths()) all.append(from_path(path));
  return all;
}

py::tuple shape(const TensorHandle& self) {
  const std::vector<int64_t>& dims = self.info->dims;
  py::tuple result(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) result[i] = py::int_(dims[dims.size() - 1 - i]);
  return result;
}

}  // namespace

void bind_gguf(py::module_& m) {
  py::class_<TensorHandle>(m, "TensorInfo", py::is_final(), "One tensor of a GGUF file.")
      .def_property_readonly("name",
                             [](const TensorHandle& self) { return to_str(self.info->name); })
      .def_property_readonly(
          "dtype",
          [](const TensorHandle& self) { return to_str(dtype_info(self.info->dtype).name); },
          "Name of the element type, e.g. \"Q4_K\".")
      .def_property_readonly("shape", &shape, "numpy order: slowest dimension first.")
      .def_property_readonly("n_bytes",
                             [](const TensorHandle& self) { return self.info->data.size(); });

  py::class_<GgufHandle>(m, "GgufFile", py::is_final(),
                         "A GGUF file (or the first file of a split set), checked from end to end.")
      .def(py::init(&open_file), "path"_a,
           "Opens and checks the file; the tensors' values stay on disk until used.\n\n"
           "Raises FileNotFoundError (also for a missing part of a split set), FileFormatError,\n"
           "UnsupportedError, or InvalidArgumentError if ``path`` is a later part of a split set.")
      .def_property_readonly("path",
                             [](const GgufHandle& self) { return from_path(self.file->path()); })
      .def_property_readonly("paths", &paths, "All files of the set.")
      .def_property_readonly("version", [](const GgufHandle& self) { return self.file->version(); })
      .def_property_readonly(
          "metadata", &metadata,
          "All keys, of the first file, as a new dict: arrays of numbers as numpy arrays (int64,\n"
          "float64 or bool), arrays of strings as lists of str. Bytes that are not UTF-8 become\n"
          "surrogates (error handler ``surrogateescape``).")
      .def_property_readonly("tensors", &tensors, "Tensors of all files, in file order.");
}

}  // namespace bactrian
