#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/kernels.h"

namespace bactrian {

/// Names of the kernel tables that this machine can run, slowest first; "ref" is always there.
std::span<const std::string_view> supported_isas() noexcept;

/// The table of that name; Error(unsupported) if this build or this machine has none, naming those
/// it has.
const Kernels& find_kernels(std::string_view isa);

/// The table to compute with: the one that the environment variable BACTRIAN_ISA names, else the
/// fastest that this machine can run. Read once; Error(unsupported) as find_kernels().
const Kernels& select_kernels();

/// Name of the table of select_kernels().
std::string selected_isa();

}  // namespace bactrian
