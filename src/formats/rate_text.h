// SPDX-License-Identifier: Apache-2.0
//
// Iterations per second as measurement programs print them: "6.030661553957379", "4.7e-02". A rate
// is rounded down to whole micro-iterations per second, against the promise that is made with it,
// and from the digits themselves: no binary fraction is in between.
#pragma once

#include <optional>
#include <string_view>

#include "domain/work.h"

namespace weir::formats {

struct RateText {
  IterationRate rate;    // rounded down
  bool is_zero = false;  // as written; a positive number below 0.000001 is not, though `rate` is 0
  friend bool operator==(const RateText&, const RateText&) = default;
};

// Nothing for signs, spaces, inf, nan and other words, and from 1e12 iterations/s up.
std::optional<RateText> parse_rate(std::string_view text);

// What a reader says of a rate that is none, is too small to count or too large to believe.
inline constexpr std::string_view kRateRule = "iterations per second from 0.000001 to 1000000";

// The rate if it is usable or zero; nothing when kRateRule is broken.
std::optional<RateText> parse_usable_rate(std::string_view text);

}  // namespace weir::formats
