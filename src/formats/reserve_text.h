// SPDX-License-Identifier: Apache-2.0
//
// A reserve as operators write it: "8" GPUs, or "2.5%" of each pool.
#pragma once

#include <optional>
#include <string_view>

#include "domain/reserve.h"

namespace weir::formats {

// Nothing for what is neither, and for more than 90 %.
std::optional<Reserve> parse_reserve(std::string_view text);

}  // namespace weir::formats
