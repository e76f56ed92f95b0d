#include <new>

#include "base/error.h"
#include "bind/bind.h"

namespace py = pybind11;

namespace bactrian {
namespace {

/// The class that errors.py assigns to the code.
py::object python_class(ErrorCode code) {
  return py::module_::import("bactrian.errors").attr("FROM_NATIVE_CODE")[error_code_name(code)];
}

void raise(ErrorCode code, const char* message) {
  PyErr_SetString(python_class(code).ptr(), message);
}

}  // namespace

void bind_error(py::module_&) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise(error.code(), error.what());
    } catch (const std::bad_alloc&) {
      raise(ErrorCode::out_of_memory, "the system refused memory for host data");
    }
  });
}

}  // namespace bactrian
