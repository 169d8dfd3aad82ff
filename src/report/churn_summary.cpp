// SPDX-License-Identifier: Apache-2.0
#include "report/churn_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace weir::report {
namespace {

using simulate::ChurnOutcome;
using ChurnRuns = std::vector<const ChurnOutcome*>;

auto cell_of(const ChurnOutcome& run) {
  return std::tie(run.workload, run.tasks_file, run.queue, run.expectation, run.policy, run.load);
}

std::optional<Spread> spread_over(const ChurnRuns& runs, double ChurnOutcome::*figure) {
  std::vector<double> values;
  for (const ChurnOutcome* run : runs) values.push_back(run->*figure);
  return spread_of(values);
}

ChurnSummary summarise_runs(const ChurnRuns& runs) {
  const ChurnOutcome& first = *runs.front();
  std::vector<double> never_fit;
  for (const ChurnOutcome* run : runs) never_fit.push_back(static_cast<double>(run->never_fit));
  return {first.workload,
          first.tasks_file,
          first.queue,
          first.expectation,
          first.policy,
          first.load,
          runs.size(),
          spread_over(runs, &ChurnOutcome::wait_mean_s),
          spread_over(runs, &ChurnOutcome::wait_p99_s),
          spread_over(runs, &ChurnOutcome::allocated_percent),
          spread_over(runs, &ChurnOutcome::fragmented_percent),
          spread_of(never_fit)};
}

Table table_for(const ChurnSummary& first) {
  return {fmt::format("{}: jobs come and go, {} workload, {}", first.workload, first.expectation,
                      first.seeds == 1
                          ? "1 seed"
                          : fmt::format("{} seeds, mean ± standard deviation", first.seeds)),
          {{"load", Align::right},
           {"queue", Align::left},
           {"policy", Align::left},
           {"mean wait s", Align::right},
           {"p99 wait s", Align::right},
           {"allocated %", Align::right},
           {"fragmented %", Align::right},
           {"never fit", Align::right}},
          {}};
}

}  // namespace

std::vector<ChurnSummary> summarise(std::span<const ChurnOutcome> outcomes) {
  std::vector<ChurnRuns> cells;
  for (const ChurnOutcome& outcome : outcomes) {
    auto cell = std::find_if(cells.begin(), cells.end(), [&](const ChurnRuns& runs) {
      return cell_of(*runs.front()) == cell_of(outcome);
    });
    if (cell == cells.end()) cell = cells.emplace(cells.end());
    cell->push_back(&outcome);
  }
  std::vector<ChurnSummary> summaries;
  for (const ChurnRuns& runs : cells) summaries.push_back(summarise_runs(runs));
  return summaries;
}

std::vector<Table> churn_tables(std::span<const ChurnSummary> summaries) {
  std::vector<Table> tables;
  const ChurnSummary* last = nullptr;
  for (const ChurnSummary& summary : summaries) {
    if (last == nullptr || last->workload != summary.workload ||
        last->tasks_file != summary.tasks_file) {
      tables.push_back(table_for(summary));
    }
    last = &summary;
    tables.back().rows.push_back(
        {fmt::format("{:.2f}", summary.load), summary.queue, summary.policy,
         to_string(summary.wait_mean_s, 1), to_string(summary.wait_p99_s, 1),
         to_string(summary.allocated_percent, 2), to_string(summary.fragmented_percent, 2),
         to_string(summary.never_fit, 0)});
  }
  return tables;
}

}  // namespace weir::report
