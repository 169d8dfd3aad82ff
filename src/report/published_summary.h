// SPDX-License-Identifier: Apache-2.0
//
// Runs under the accounting of the public ElasticFlow simulator: a table for each trace, JSON and
// CSV.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/result.h"
#include "report/table.h"
#include "simulate/published/published_run.h"

namespace weir::report {

struct PublishedSummary {
  std::string workload;
  std::string jobs_file;
  simulate::published::PublishedOutcome outcome;

  // Admitted, or not asked, and not on time.
  std::int64_t late() const { return outcome.completed - outcome.met; }
};

std::vector<Table> published_tables(std::span<const PublishedSummary> runs);
Result<std::string> published_json(std::span<const PublishedSummary> runs);
std::string published_csv(std::span<const PublishedSummary> runs);

}  // namespace weir::report
