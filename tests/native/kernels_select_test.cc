#include "base/cpu_info.h"
#include "base/error.h"
#include "check.h"
#include "kernels/select.h"

namespace bactrian {
namespace {

TEST(every_supported_isa_is_found) {
  CHECK(!supported_isas().empty());
  CHECK_EQ(supported_isas().front(), "ref");
  for (const std::string_view isa : supported_isas()) CHECK_EQ(find_kernels(isa).isa, isa);
  bool has_avx2 = false;
  for (const std::string_view isa : supported_isas()) has_avx2 |= isa == "avx2";
  CHECK_EQ(has_avx2, cpu_features().avx2);
}

TEST(an_unknown_isa_names_those_there_are) {
  CHECK_ERROR(find_kernels("sse9"), ErrorCode::unsupported, "sse9");
  for (const std::string_view isa : supported_isas()) {
    CHECK_ERROR(find_kernels(""), ErrorCode::unsupported, isa);
  }
}

TEST(tables_are_complete) {
  for (const std::string_view isa : supported_isas()) {
    const Kernels& kernels = find_kernels(isa);
    for (int kind = 0; kind < kPackedKinds; ++kind) {
      const PackedKernels* packed = kernels.packed[kind];
      CHECK(packed != nullptr);
      CHECK(packed->expand != nullptr);
      CHECK_EQ(packed->fused != nullptr, packed->max_fused_tokens > 0);
    }
    CHECK(kernels.gemm != nullptr);
    CHECK(kernels.scale_blocks != nullptr);
  }
}

}  // namespace
}  // namespace bactrian
