// SPDX-License-Identifier: Apache-2.0
//
// A ratio of integers as decimal text, rounded exactly (half to even) without floating point, so
// that a report has the same bytes on every compiler and machine.
#pragma once

#include <cstdint>
#include <string>

namespace weir::formats {

__extension__ using Int128 = __int128;

// numerator / denominator with `decimals` digits after the point: (1, 8, 2) is "0.12".
// Requires: 0 < denominator < 2^123, decimals >= 0.
std::string fixed_decimal(Int128 numerator, Int128 denominator, int decimals);

// The mean sum/count as percent of `capacity`: sum * 100 / (count * capacity).
// Requires: count > 0, capacity > 0.
std::string fixed_percent(std::int64_t sum, std::int64_t count, std::int64_t capacity,
                          int decimals);

}  // namespace weir::formats
