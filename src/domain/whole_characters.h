// SPDX-License-Identifier: Apache-2.0
//
// Cuts a text that is too long.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// The first bytes of a text, at most `limit`, without cutting a UTF-8 character in two.
constexpr std::string_view whole_characters(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0U) == 0x80U) --limit;
  return text.substr(0, limit);
}

}  // namespace weir
