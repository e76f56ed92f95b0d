#include "kernels/tables.h"

#include "kernels/avx2/avx2.h"

namespace bactrian {

// Filled at compile time: nothing of this folder may run before the table is chosen.
constinit const Kernels kAvx2Kernels = {
    .isa = "avx2",
    .gemm = avx2::gemm,
    .transpose = avx2::transpose,
    .packed = {&avx2::kF32, &avx2::kF16, &avx2::kBF16, &avx2::kQ8_0, &avx2::kQ4_0, &avx2::kQ4_1,
               &avx2::kQ4_K},
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
