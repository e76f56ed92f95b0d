#pragma once

#include "kernels/kernels.h"

namespace bactrian {

// One table per instruction set; select.cc alone names them.
extern const Kernels kRefKernels;   // plain C++, the oracle, always built
extern const Kernels kAvx2Kernels;  // AVX2, FMA and F16C: Haswell, Zen and later

}  // namespace bactrian
