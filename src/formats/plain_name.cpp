// SPDX-License-Identifier: Apache-2.0
#include "formats/plain_name.h"

#include <cstdint>

namespace weir::formats {
namespace {

constexpr std::size_t kBroken = 0;

bool is_continuation(unsigned char byte) {
  return (byte & 0xC0U) == 0x80U;
}

// Bytes of the printable character that starts `text`; kBroken when it is malformed, overlong, a
// surrogate or a control character. Requires: text is not empty.
std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first < 0x20 || first == 0x7F ? kBroken : 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return kBroken;
  std::uint32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(byte(i))) return kBroken;
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool is_control = code < 0xA0 || code == 0x2028 || code == 0x2029 || code == 0xFEFF;
  return is_overlong || is_surrogate || is_control || code > 0x10FFFF ? kBroken : length;
}

}  // namespace

bool is_plain_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName) return false;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    if (length == kBroken) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_node_name(std::string_view text) {
  return text.find_first_of("[]") == std::string_view::npos && is_plain_name(text);
}

bool is_model_name(std::string_view text) {
  return text.find('|') == std::string_view::npos && is_plain_name(text);
}

}  // namespace weir::formats
