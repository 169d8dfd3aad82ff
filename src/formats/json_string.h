// SPDX-License-Identifier: Apache-2.0
//
// A string as JSON, in quotes, appended: for what is written by hand because it must be fast. Text
// that is not UTF-8 gets U+FFFD in place of the broken bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::formats {

void append_json_string(std::string& out, std::string_view text);

// How many bytes the character at the front has; 0 when it is not UTF-8. Requires: text is not empty.
std::size_t utf8_length(std::string_view text);
bool is_utf8(std::string_view text);

// Bytes of a string for a message: at most `kMostQuoted`, not cut inside of a character.
inline constexpr std::size_t kMostQuoted = 60;
std::string shortened(std::string_view text);

}  // namespace weir::formats
