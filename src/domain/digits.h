// SPDX-License-Identifier: Apache-2.0
//
// The ten digits, whatever the locale.
#pragma once

#include <algorithm>
#include <string_view>

namespace weir {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// At least one, and nothing else.
constexpr bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace weir
