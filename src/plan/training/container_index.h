// SPDX-License-Identifier: Apache-2.0
//
// Operators, stages and GPUs are counted in int, as in plans; containers count in std::size_t.
#pragma once

#include <cstddef>

namespace weir::plan {

// Requires: index >= 0.
constexpr std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace weir::plan
