// SPDX-License-Identifier: Apache-2.0
//
// What a user most likely meant by a name that does not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weir {

// The name with the fewest slips (insert, delete, replace, swap neighbours), the first of equals; nothing
// when that takes more than a third of the longer word's letters (but one is always allowed for words of
// two and more). Case, dashes and underscores do not count: "BestFit" is "best-fit".
std::optional<std::string_view> nearest_name(std::string_view wrong,
                                             std::span<const std::string_view> names);
std::optional<std::string_view> nearest_name(std::string_view wrong,
                                             std::span<const std::string> names);

// "; did you mean fgd?", or nothing when no name is near.
std::string did_you_mean(std::string_view wrong, std::span<const std::string> names);

}  // namespace weir
