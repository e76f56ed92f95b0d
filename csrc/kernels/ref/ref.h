#pragma once

#include "kernels/kernels.h"

namespace bactrian::ref {

extern const PackedKernels* const kPacked[kPackedKinds];  // by PackedKind

}  // namespace bactrian::ref
