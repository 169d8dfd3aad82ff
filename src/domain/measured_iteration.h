// SPDX-License-Identifier: Apache-2.0
//
// A whole training iteration that was timed.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

struct MeasuredIteration {
  std::string network{};
  std::int64_t batch = 0;
  std::int64_t round = 0;
  bool is_judged = false;  // never fitted to
  double milliseconds = 0;
  double probe_microseconds =
      0;  // the CPU's time for the probe's small training step, in turns with it
};

}  // namespace weir
