#include <pybind11/stl.h>

#include <map>
#include <string>

#include "base/cpu_info.h"
#include "base/error.h"
#include "bind/bind.h"
#include "kernels/select.h"

namespace py = pybind11;

namespace bactrian {
namespace {

constexpr int kMaxThreads = 1024;

std::map<std::string, std::string> build_info() {
  return {{"version", BACTRIAN_VERSION},
          {"compiler", BACTRIAN_COMPILER},
          {"build_type", BACTRIAN_BUILD_TYPE},
          {"backends", "cpu"}};
}

}  // namespace

int resolve_threads(int n_threads) {
  if (n_threads == 0) return default_thread_count();
  if (n_threads < 0 || n_threads > kMaxThreads) {
    fail(ErrorCode::invalid_argument, "n_threads is ", n_threads, ", but must be 1 to ",
         kMaxThreads, ", or 0 for the number of processors this process may use");
  }
  return n_threads;
}

void bind_info(py::module_& m) {
  m.def("build_info", build_info, "version, compiler, build_type and backends of this build.");
  m.def(
      "supported_isas",
      [] {
        const auto names = supported_isas();
        return std::vector<std::string>(names.begin(), names.end());
      },
      "Kernel tables this machine can run, worst first: always \"ref\", then e.g. \"avx2\".");
  m.def("selected_isa", &selected_isa,
        "The kernel table in use: the best one, or the one named by ``BACTRIAN_ISA``.\n\n"
        "Raises UnsupportedError if ``BACTRIAN_ISA`` names one that this machine or build lacks.");
  m.def(
      "default_threads", [] { return default_thread_count(); },
      "min(CPU affinity, cgroup quota), at least 1.");
}

}  // namespace bactrian
