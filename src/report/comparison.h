// SPDX-License-Identifier: Apache-2.0
//
// Policies beside each other on many traces: what is kept of each run, one table of all, and one
// that sets weir against the best of the others. One value feeds the tables, the JSON, the CSV and
// the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/training.h"
#include "report/table.h"
#include "report/training_summary.h"
#include "simulate/training_sweep.h"

namespace weir::report {

// Jobs with a deadline, and those of them that met it as in TrainingSummary::met.
struct MetShare {
  std::int64_t with_deadline = 0;
  std::int64_t met = 0;
  friend bool operator==(const MetShare&, const MetShare&) = default;
};

// What is kept of a run.
struct ComparedRun {
  std::size_t trace = 0;
  TrainingSummary summary;
  // For plots, where they are wanted. Ascending.
  std::vector<double> completion_hours;            // of finished jobs
  std::vector<double> slack_percent;               // of the time allowed; finished, with a deadline
  std::map<std::int32_t, MetShare> by_asked_gpus;  // rounded up to a power of two
};

enum class Detail : std::uint8_t { figures_only, with_plots };

// Requires: the run is one of that workload.
ComparedRun compared_run(std::size_t trace, const simulate::TrainingSweepRun& run,
                         const TrainingWorkload& workload, Detail detail);

// The runs of one policy on one trace, which differ by seed. Runs come by trace, policy, seed.
using SeedRuns = std::span<const ComparedRun>;
std::vector<SeedRuns> by_trace_and_policy(std::span<const ComparedRun> runs);

// The mean over seeds.
std::optional<double> mean_met(SeedRuns runs);
std::optional<double> mean_jct(SeedRuns runs);

// How weir stands on one trace.
struct TraceVerdict {
  std::size_t trace = 0;
  std::string name;
  std::optional<SeedRuns> weir;
  // The most deadlines met of the other policies; of equals the lower mean JCT, then the first.
  std::optional<SeedRuns> best_other;
  std::optional<SeedRuns> fastest;  // the lowest mean JCT of all; nothing when no job finished
};
std::vector<TraceVerdict> trace_verdicts(std::span<const ComparedRun> runs);

// Trace by policy. With several seeds figures are means, with the standard deviation beside them.
Table comparison_table(std::span<const ComparedRun> runs);
// Weir beside the best other policy, and who has the lowest mean JCT. Nothing when weir, or any
// other, is not among the runs.
std::optional<Table> rivalry_table(std::span<const ComparedRun> runs);

// What the columns mean.
std::string_view comparison_legend();

}  // namespace weir::report
