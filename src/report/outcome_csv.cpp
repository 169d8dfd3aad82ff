// SPDX-License-Identifier: Apache-2.0
#include "report/outcome_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "formats/csv_writer.h"
#include "formats/fixed_decimal.h"
#include "report/outcome_json.h"

namespace weir::report {
namespace {

using formats::CsvWriter;
using simulate::ChurnOutcome;
using simulate::InflationOutcome;

void write_percent(CsvWriter& csv, const simulate::SampleMean& mean, std::int64_t whole) {
  csv.cell(mean.empty() || whole == 0
               ? std::string{}
               : formats::fixed_percent(mean.sum, mean.count, whole, kPercentDecimals));
}

template <class Outcome>
bool any_timing(std::span<const Outcome> outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const Outcome& run) { return run.timing.has_value(); });
}

void write_timing(CsvWriter& csv, const std::optional<simulate::DecisionTiming>& timing) {
  csv.cell(timing ? fmt::format("{}", timing->decision_us_mean) : std::string{});
}

}  // namespace

std::string outcome_csv(std::span<const InflationOutcome> outcomes) {
  std::ostringstream out;
  CsvWriter csv{out};
  for (const char* column :
       {"policy", "workload", "tasks_file", "seed", "gpus", "tasks", "failed", "failed_cpu_only"}) {
    csv.cell(column);
  }
  for (const char* figure : {"allocated", "fragmented"}) {
    for (int percent = 0; percent <= InflationOutcome::kLastPercent; ++percent) {
      csv.cell(fmt::format("{}_{}", figure, percent));
    }
  }
  const bool has_timing = any_timing(outcomes);
  if (has_timing) csv.cell("decision_us_mean");
  csv.end_row();
  for (const InflationOutcome& run : outcomes) {
    csv.cell(run.policy).cell(run.workload).cell(run.tasks_file).cell(run.seed);
    csv.cell(run.capacity.value / kWholeGpu.value).cell(run.tasks).cell(run.failed);
    csv.cell(run.failed_cpu_only);
    for (const auto& cell : run.arrived) {
      write_percent(csv, cell.allocated_milli, run.capacity.value);
    }
    for (const auto& cell : run.arrived) {
      write_percent(csv, cell.fragmented_micro, run.capacity.value * kMicroPerMilli);
    }
    if (has_timing) write_timing(csv, run.timing);
    csv.end_row();
  }
  return out.str();
}

std::string outcome_csv(std::span<const ChurnOutcome> outcomes) {
  std::ostringstream out;
  CsvWriter csv{out};
  for (const char* column : {"policy", "workload", "tasks_file", "queue", "expectation", "load",
                             "seed", "jobs", "never_fit", "wait_mean_s", "wait_p99_s",
                             "allocated_percent", "fragmented_percent", "makespan_s"}) {
    csv.cell(column);
  }
  const bool has_timing = any_timing(outcomes);
  if (has_timing) csv.cell("decision_us_mean");
  csv.end_row();
  for (const ChurnOutcome& run : outcomes) {
    csv.cell(run.policy).cell(run.workload).cell(run.tasks_file).cell(run.queue);
    csv.cell(run.expectation).cell(fmt::format("{}", run.load)).cell(run.seed).cell(run.jobs);
    csv.cell(run.never_fit);
    for (const double figure : {run.wait_mean_s, run.wait_p99_s, run.allocated_percent,
                                run.fragmented_percent, run.makespan_s}) {
      csv.cell(fmt::format("{}", figure));
    }
    if (has_timing) write_timing(csv, run.timing);
    csv.end_row();
  }
  return out.str();
}

}  // namespace weir::report
