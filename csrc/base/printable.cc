#include "base/printable.h"

#include <cstdint>

namespace bactrian {
namespace {

/// Bytes of the well-formed UTF-8 sequence at the front (Unicode 15, table 3-7); 0 if there is
/// none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(i < text.size() ? text[i] : 0); };
  const auto within = [&](size_t i, int low, int high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const auto tail = [&](size_t i) { return within(i, 0x80, 0xbf); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const bool second = within(1, lead == 0xe0 ? 0xa0 : 0x80, lead == 0xed ? 0x9f : 0xbf);
    return second && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const bool second = within(1, lead == 0xf0 ? 0x90 : 0x80, lead == 0xf4 ? 0x8f : 0xbf);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string printable(std::string_view text, size_t max_bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    if (out.size() >= max_bytes) return out + "...";
    const size_t length = sequence_length(text);
    const auto byte = static_cast<uint8_t>(text[0]);
    if (length == 0 || byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace bactrian
