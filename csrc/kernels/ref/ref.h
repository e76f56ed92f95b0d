#pragma once

#include "kernels/kernels.h"

namespace bactrian::ref {

extern const PackedKernels kF32;
extern const PackedKernels kF16;
extern const PackedKernels kBF16;
extern const PackedKernels kQ8_0;
extern const PackedKernels kQ4_0;
extern const PackedKernels kQ4_1;
extern const PackedKernels kQ4_K;

}  // namespace bactrian::ref
