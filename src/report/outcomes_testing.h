// SPDX-License-Identifier: Apache-2.0
//
// Hand-made outcomes for tests of reports.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "domain/time.h"
#include "simulate/outcome.h"

namespace weir::report {

inline Time at(std::int64_t seconds) {
  return Time{from_seconds(seconds)};
}

// A run on 100 GPUs in which `reached` percent is the most a policy can allocate, 8 % of the
// capacity starts as fragments and all that is left at the end is one.
inline simulate::InflationOutcome a_run(std::string policy, std::uint64_t seed, int reached,
                                        std::string workload = "default") {
  simulate::InflationOutcome run;
  run.policy = std::move(policy);
  run.tasks_file = "traces/" + workload + ".csv";
  run.workload = std::move(workload);
  run.seed = seed;
  run.capacity = MilliGpu{100'000};
  run.tasks = 1000;
  run.failed = 3 * (100 - reached);
  run.failed_cpu_only = 100 - reached;
  for (int percent = 0; percent <= simulate::InflationOutcome::kLastPercent; ++percent) {
    const int allocated = std::min(percent, reached);
    const int fragmented = std::max(8 - percent / 10, percent >= 100 ? 100 - allocated : 0);
    auto& cell = run.arrived[static_cast<std::size_t>(percent)];
    cell.allocated_milli.add(allocated * 1000);
    cell.fragmented_micro.add(fragmented * 1'000'000);
  }
  return run;
}

inline simulate::ChurnOutcome a_churn_run(std::string policy, double load, std::string queue,
                                          std::uint64_t seed, double wait_s) {
  simulate::ChurnOutcome run;
  run.policy = std::move(policy);
  run.workload = "default";
  run.tasks_file = "traces/default.csv";
  run.queue = std::move(queue);
  run.expectation = "oracle";
  run.load = load;
  run.seed = seed;
  run.jobs = 1000;
  run.wait_mean_s = wait_s;
  run.wait_p99_s = 8 * wait_s;
  run.allocated_percent = 90 * load;
  run.fragmented_percent = 6.5;
  run.makespan_s = 1e6;
  return run;
}

}  // namespace weir::report
