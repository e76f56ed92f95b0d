#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bactrian::test {

/// Reads any bytes as a GGUF file and, if they are one, looks at all that it offers. Errors of type
/// bactrian::Error are an expected outcome, anything else is a finding. Returns whether the bytes
/// were accepted.
bool exercise_gguf(std::span<const std::byte> bytes);

}  // namespace bactrian::test
