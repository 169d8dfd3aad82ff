// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the known word that a misspelt one was probably meant to be.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace weir::formats {

// The candidate with the fewest edits (insert, delete, replace, swap neighbours), the first of
// equals; nothing when that takes more than a third of the longer word's letters (but one is always
// allowed for words of two and more).
std::optional<std::string_view> close_match(std::string_view word,
                                            std::span<const std::string_view> candidates);

}  // namespace weir::formats
