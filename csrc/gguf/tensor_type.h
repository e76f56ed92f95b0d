#pragma once

#include <cstdint>
#include <string>

namespace bactrian {

/// Why a type id of the file, one that find_dtype() does not know, can't be read: a phrase that
/// follows "tensor T ", with the name of the type where the id has one.
std::string describe_unsupported_type(uint32_t file_id);

}  // namespace bactrian
