// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on whole numbers that several layers need.
#pragma once

#include <bit>
#include <cstdint>

namespace weir {

constexpr bool is_power_of_two(std::int64_t number) {
  return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number));
}

// Requires: number >= 0, by > 0.
constexpr std::int64_t divide_up(std::int64_t number, std::int64_t by) {
  return number / by + (number % by != 0 ? 1 : 0);
}

}  // namespace weir
