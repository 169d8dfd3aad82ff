// SPDX-License-Identifier: Apache-2.0
//
// Outcomes as JSON, for programs. Percentages are rounded from exact integers to four decimals, so
// the same runs give the same bytes on every build and number of threads. Only `timing`, present
// when it was asked for, differs from run to run. `bound` is there when it was asked for.
//
//   {"runs":[{"policy":"fgd","workload":"default","tasks_file":"...","seed":42,"tasks":10812,
//     "failed":2469,"failed_cpu_only":0,"gpus":6212,"allocated":{"0":0.01,...,"130":95.39},
//     "fragmented":{"0":13.9,...}}]}
//   {"churn":[{"policy":"fgd","workload":"default",...,"load":0.9,"wait_mean_s":12.5,...}]}
#pragma once

#include <span>
#include <string>

#include "domain/result.h"
#include "simulate/outcome.h"

namespace weir::report {

// Of percentages, in JSON as in CSV.
inline constexpr int kPercentDecimals = 4;

// One line for each run. A percentage of arrivals without samples has no key.
Result<std::string> outcome_json(std::span<const simulate::InflationOutcome> outcomes);
Result<std::string> outcome_json(std::span<const simulate::ChurnOutcome> outcomes);

}  // namespace weir::report
