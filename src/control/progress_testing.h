// SPDX-License-Identifier: Apache-2.0
//
// For tests: what a job says of itself.
#pragma once

#include <cstdint>

#include "domain/engine.h"
#include "domain/time.h"

namespace weir::control::testing {

inline RunProgress progress(std::int64_t iterations, std::int64_t second) {
  RunProgress made;
  made.iterations = iterations;
  made.elapsed = from_seconds(second);
  return made;
}

}  // namespace weir::control::testing
