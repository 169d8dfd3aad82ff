// SPDX-License-Identifier: Apache-2.0
//
// For tests with cases that come from one number.
#pragma once

#include <cstdint>

#include "domain/seeded_rng.h"

namespace weir::simulate::testing {

// How many models the jobs of a case have among them.
inline constexpr std::int64_t kModels = 4;

// From 0, below `end`.
inline std::int64_t up_to(SeededRng& rng, std::int64_t end) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(end)));
}

}  // namespace weir::simulate::testing
