// SPDX-License-Identifier: Apache-2.0
//
// Churn runs put together over their seeds: one summary for each list, load, queue and policy.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/spread.h"
#include "report/table.h"
#include "simulate/outcome.h"

namespace weir::report {

struct ChurnSummary {
  std::string workload;
  std::string tasks_file;
  std::string queue;
  std::string expectation;
  std::string policy;
  double load = 0;
  std::size_t seeds = 0;
  std::optional<Spread> wait_mean_s;
  std::optional<Spread> wait_p99_s;
  std::optional<Spread> allocated_percent;
  std::optional<Spread> fragmented_percent;
  std::optional<Spread> never_fit;
};

// In the order in which they first appear.
std::vector<ChurnSummary> summarise(std::span<const simulate::ChurnOutcome> outcomes);

// One table for each list.
std::vector<Table> churn_tables(std::span<const ChurnSummary> summaries);

}  // namespace weir::report
