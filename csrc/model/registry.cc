#include "model/registry.h"

#include <string_view>

#include "base/error.h"
#include "model/arch/llama.h"

namespace bactrian {
namespace {

struct Entry {
  std::string_view name;
  ArchitectureFactory make;
};

constexpr Entry kArchitectures[] = {
    {"llama", make_llama},
};

}  // namespace

ArchitectureFactory find_architecture(const std::string& name, const std::string& path) {
  std::string known;
  for (const Entry& entry : kArchitectures) {
    if (entry.name == name) return entry.make;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  fail(ErrorCode::unsupported, path, ": architecture \"", name,
       "\" is not supported; supported are: ", known);
}

}  // namespace bactrian
