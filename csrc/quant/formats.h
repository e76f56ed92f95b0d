#pragma once

#include "quant/format.h"

// One object for each format, defined in the format's own file.

namespace bactrian {

extern const Format kF32;
extern const Format kF16;
extern const Format kBF16;
extern const Format kQ4_0;
extern const Format kQ4_1;
extern const Format kQ5_0;
extern const Format kQ5_1;
extern const Format kQ8_0;
extern const Format kQ2_K;
extern const Format kQ3_K;
extern const Format kQ4_K;
extern const Format kQ5_K;
extern const Format kQ6_K;
extern const Format kIQ4_NL;
extern const Format kIQ4_XS;
extern const Format kMXFP4;

}  // namespace bactrian
