// SPDX-License-Identifier: Apache-2.0
//
// What part of the time each job should run so that everybody's finish is put off as evenly as can
// be. A job that runs a part x of the time from now on finishes at age + left / x; its ratio is that
// over its ideal. Wanted are the parts that
//
//   minimise  max (age + left / x) / ideal   with   0 <= x <= 1  and  sum of gpus * x <= all GPUs
//
// and among those the ones whose second-largest ratio is least, and so on. At one ratio r for
// everybody, x = left / (r * ideal - age), at most 1: less for everybody as r grows. So the least r
// at which the parts fit is found by bisection. In whole numbers, so that it is the same everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/time.h"

namespace weir::schedule {

struct FairJob {
  Duration age;    // since it came
  Duration left;   // to run, if it had its GPUs all the time
  Duration ideal;  // what it should take from its arrival to its finish
  std::int32_t gpus = 1;
};

inline constexpr std::int64_t kWholeTime = 1'000'000;

// The parts, in millionths, rounded down. Times count in milliseconds, up to 34 years; an ideal
// below a millionth of age and left together counts as that.
std::vector<std::int64_t> fair_shares(std::span<const FairJob> jobs, std::int64_t gpus);

}  // namespace weir::schedule
