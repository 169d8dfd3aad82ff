// SPDX-License-Identifier: Apache-2.0
//
// Which bytes are UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir::transport {

// The length of the first character, or 0 when the text does not begin with one.
// Requires: the text is not empty.
std::size_t utf8_character_length(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace weir::transport
