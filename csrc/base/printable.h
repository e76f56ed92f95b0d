#pragma once

#include <string>
#include <string_view>

namespace bactrian {

/// Foreign text (a path, a key, a tensor's name) made fit for a one-line message: valid UTF-8
/// stays, control characters and stray bytes become \xNN, and beyond `max_bytes` it is cut with
/// "...".
std::string printable(std::string_view text, size_t max_bytes = 1024);

}  // namespace bactrian
