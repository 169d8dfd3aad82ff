// SPDX-License-Identifier: Apache-2.0
//
// Studies of shared and partitioned fabrics as tables and JSON: how long jobs wait for partitions
// (simulate/fragmentation_study.h), and how soon a mix of jobs is done (simulate/job_mix_study.h).
//
//   {"runs":[{"rule":"logical Clos","load":0.7,"seed":1,"mean_wait":1.06,"blocked_share":0.09,
//     "circuits_moved_per_job":0,"jobs_paused_per_job":0}]}
//   {"schemes":[{"scheme":"ecmp","mean_completion_seconds":..,"mean_run_seconds":..,
//     "mean_wait_seconds":..,"mean_slowdown":..,"blocked_share":..,"isolated_jobs":..,
//     "circuits_moved":..,"windows":..,"sizes":[{"gpus":64,"jobs":..,..}]}],"load":0.83}
#pragma once

#include <span>
#include <string>

#include "domain/result.h"
#include "report/html_page.h"
#include "report/table.h"
#include "simulate/fragmentation_study.h"
#include "simulate/job_mix_study.h"

namespace weir::report {

// A row per load and rule: means over seeds, with the least and the most.
Table fragmentation_table(const std::vector<simulate::FragmentationResult>& results,
                          std::span<const double> loads);
Result<std::string> fragmentation_json(const std::vector<simulate::FragmentationResult>& results);

Table scheme_table(std::span<const simulate::SchemeOutcome> outcomes);
// Completion times, a column per scheme.
Table size_table(std::span<const simulate::SchemeOutcome> outcomes);
Result<std::string> job_mix_json(std::span<const simulate::SchemeOutcome> outcomes, double load);

// One fabric of a study of growth: what playing it took.
struct FabricGrowth {
  int gpus = 0;
  double load = 0;
  std::vector<simulate::SchemeOutcome> outcomes;
};
// CPU seconds by fabric, a column per scheme.
Table growth_table(std::span<const FabricGrowth> fabrics);
// {"fabrics":[{"gpus":1024,"load":0.83,"cpu_seconds":{"ecmp":1.2}, ... as job_mix_json}]}
Result<std::string> growth_json(std::span<const FabricGrowth> fabrics);

// Waits and blocking over the load, for each rule.
std::string fragmentation_page(const ReportHeader& header,
                               const std::vector<simulate::FragmentationResult>& results,
                               std::span<const double> loads);
// Completion time and slowdown by size for each scheme, of the last fabric; CPU time over fabrics where there are
// several. Requires: at least one.
std::string job_mix_page(const ReportHeader& header, std::span<const FabricGrowth> fabrics);

}  // namespace weir::report
