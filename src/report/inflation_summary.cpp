// SPDX-License-Identifier: Apache-2.0
#include "report/inflation_summary.h"

#include <algorithm>
#include <utility>

namespace weir::report {
namespace {

using simulate::InflationOutcome;

constexpr int kAllArrived = 100;

// The values of one figure over the runs; a run without it is left out.
template <class FigureOf>
std::optional<Spread> spread_over(std::span<const InflationOutcome* const> runs,
                                  FigureOf figure_of) {
  std::vector<double> values;
  for (const InflationOutcome* run : runs) {
    if (const std::optional<double> value = figure_of(*run)) values.push_back(*value);
  }
  return spread_of(values);
}

std::optional<double> stranded_gpus(const InflationOutcome& run) {
  const auto allocated = run.allocated_percent(kAllArrived);
  if (!allocated) return std::nullopt;
  const double gpus =
      static_cast<double>(run.capacity.value) / static_cast<double>(kWholeGpu.value);
  return gpus * (100 - *allocated) / 100;
}

InflationSummary summarise_runs(std::span<const InflationOutcome* const> runs) {
  InflationSummary summary;
  const InflationOutcome& first = *runs.front();
  summary.workload = first.workload;
  summary.tasks_file = first.tasks_file;
  summary.policy = first.policy;
  summary.capacity = first.capacity;
  summary.seeds = runs.size();
  for (int percent = 0; percent <= InflationSummary::kLastPercent; ++percent) {
    const auto at = static_cast<std::size_t>(percent);
    summary.allocated[at] = spread_over(
        runs, [percent](const InflationOutcome& run) { return run.allocated_percent(percent); });
    summary.fragmented[at] = spread_over(
        runs, [percent](const InflationOutcome& run) { return run.fragmented_percent(percent); });
  }
  const auto amount = [](std::int64_t count) { return std::optional{static_cast<double>(count)}; };
  summary.failed =
      spread_over(runs, [&](const InflationOutcome& run) { return amount(run.failed); });
  summary.failed_cpu_only =
      spread_over(runs, [&](const InflationOutcome& run) { return amount(run.failed_cpu_only); });
  summary.stranded_gpus = spread_over(runs, stranded_gpus);
  summary.bound_percent = first.bound_percent;
  summary.decision_us = spread_over(runs, [](const InflationOutcome& run) {
    return run.timing ? std::optional{run.timing->decision_us_mean} : std::nullopt;
  });
  return summary;
}

bool same_cell(const InflationOutcome& a, const InflationOutcome& b) {
  return a.policy == b.policy && a.workload == b.workload && a.tasks_file == b.tasks_file;
}

}  // namespace

std::vector<InflationSummary> summarise(std::span<const InflationOutcome> outcomes) {
  std::vector<std::vector<const InflationOutcome*>> cells;
  for (const InflationOutcome& outcome : outcomes) {
    auto cell = std::find_if(cells.begin(), cells.end(),
                             [&](const auto& runs) { return same_cell(*runs.front(), outcome); });
    if (cell == cells.end()) cell = cells.emplace(cells.end());
    cell->push_back(&outcome);
  }
  std::vector<InflationSummary> summaries;
  for (const auto& runs : cells) summaries.push_back(summarise_runs(runs));
  return summaries;
}

std::vector<ListSummary> by_list(std::vector<InflationSummary> summaries) {
  std::vector<ListSummary> lists;
  for (InflationSummary& summary : summaries) {
    auto list = std::find_if(lists.begin(), lists.end(), [&](const ListSummary& known) {
      return known.workload == summary.workload && known.tasks_file == summary.tasks_file;
    });
    if (list == lists.end()) {
      list = lists.insert(list, ListSummary{summary.workload, summary.tasks_file, {}});
    }
    list->policies.push_back(std::move(summary));
  }
  return lists;
}

}  // namespace weir::report
