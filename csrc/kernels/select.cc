#include "kernels/select.h"

#include <array>
#include <cstdlib>

#include "base/cpu_info.h"
#include "base/error.h"
#include "kernels/tables.h"

namespace bactrian {
namespace {

struct Entry {
  const Kernels& kernels;
  bool (*supported)(const CpuFeatures&);
};

// Slowest first. A new instruction set is one line here.
constexpr Entry kTables[] = {
    {kRefKernels, [](const CpuFeatures&) { return true; }},
#ifdef BACTRIAN_HAVE_AVX2
    {kAvx2Kernels, [](const CpuFeatures& cpu) { return cpu.avx2; }},
#endif
};

struct Supported {
  std::array<std::string_view, std::size(kTables)> names;
  size_t count = 0;
};

const Supported& supported() noexcept {
  static const Supported found = [] {
    Supported result;
    for (const Entry& entry : kTables) {
      if (entry.supported(cpu_features())) result.names[result.count++] = entry.kernels.isa;
    }
    return result;
  }();
  return found;
}

}  // namespace

std::span<const std::string_view> supported_isas() noexcept {
  return std::span(supported().names).first(supported().count);
}

const Kernels& find_kernels(std::string_view isa) {
  std::string names;
  for (const Entry& entry : kTables) {
    if (!entry.supported(cpu_features())) continue;
    if (entry.kernels.isa == isa) return entry.kernels;
    names += names.empty() ? "" : ", ";
    names += entry.kernels.isa;
  }
  fail(ErrorCode::unsupported, "instruction set \"", isa,
       "\" (BACTRIAN_ISA) is unknown or not usable on this machine, which has: ", names);
}

const Kernels& select_kernels() {
  static const Kernels& selected = [&]() -> const Kernels& {
    const char* forced = std::getenv("BACTRIAN_ISA");
    if (forced != nullptr && *forced != '\0') return find_kernels(forced);
    return find_kernels(supported_isas().back());
  }();
  return selected;
}

std::string selected_isa() { return select_kernels().isa; }

}  // namespace bactrian
