#include "kernels/tables.h"

#include "kernels/avx2/avx2.h"

namespace bactrian {
namespace avx2 {

// By PackedKind.
static constinit const PackedKernels* const kPacked[kPackedKinds] = {
    &kF32,  &kF16,  &kBF16, &kQ4_0, &kQ4_1, &kQ5_0,   &kQ5_1,   &kQ8_0,
    &kQ2_K, &kQ3_K, &kQ4_K, &kQ5_K, &kQ6_K, &kIQ4_NL, &kIQ4_XS, &kMXFP4};

}  // namespace avx2

// Filled at compile time: nothing of this folder may run before the table is chosen.
constinit const Kernels kAvx2Kernels = {
    .isa = "avx2",
    .gemm = avx2::gemm,
    .transpose = avx2::transpose,
    .packed = avx2::kPacked,
    .softmax_page = avx2::softmax_page,
    .scale = avx2::scale,
    .rms_norm = avx2::rms_norm,
    .silu_mul = avx2::silu_mul,
    .rope_adjacent = avx2::rope_adjacent,
    .rope_halves = avx2::rope_halves,
    .half_to_float = avx2::half_to_float,
    .float_to_half = avx2::float_to_half,
    .scale_each = avx2::scale_each,
    .scale_blocks = avx2::scale_blocks,
};

}  // namespace bactrian
