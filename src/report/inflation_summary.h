// SPDX-License-Identifier: Apache-2.0
//
// Inflation runs put together over their seeds: one summary for each list and policy.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/spread.h"
#include "simulate/outcome.h"

namespace weir::report {

struct InflationSummary {
  static constexpr int kLastPercent = simulate::InflationOutcome::kLastPercent;
  using Curve = std::array<std::optional<Spread>, kLastPercent + 1>;

  std::string workload;
  std::string tasks_file;
  std::string policy;
  MilliGpu capacity;
  std::size_t seeds = 0;
  Curve allocated;   // percent of capacity; index = percent arrived
  Curve fragmented;  // likewise
  std::optional<Spread> failed;
  std::optional<Spread> failed_cpu_only;
  // GPUs not allocated when demand for all of them has arrived.
  std::optional<Spread> stranded_gpus;
  std::optional<double> bound_percent;  // of the list, when it was computed
  std::optional<Spread> decision_us;    // when it was measured
};

// In the order in which list and policy first appear.
std::vector<InflationSummary> summarise(std::span<const simulate::InflationOutcome> outcomes);

// All summaries of one list, in the order of the policies.
struct ListSummary {
  std::string workload;
  std::string tasks_file;
  std::vector<InflationSummary> policies;
};
std::vector<ListSummary> by_list(std::vector<InflationSummary> summaries);

}  // namespace weir::report
