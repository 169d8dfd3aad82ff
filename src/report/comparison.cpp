// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "report/spread.h"

namespace weir::report {
namespace {

using simulate::TrainingJobOutcome;

constexpr std::string_view kOurs = "weir";

void add_details(ComparedRun& kept, const simulate::TrainingOutcome& outcome,
                 const TrainingWorkload& workload) {
  for (std::size_t row = 0; row < outcome.by_job.size(); ++row) {
    const TrainingJobOutcome& job = outcome.by_job[row];
    if (job.finished)
      kept.completion_hours.push_back(to_seconds(*job.finished - job.submitted) / 3600);
    if (!job.has_deadline) continue;
    const auto asked = static_cast<std::uint32_t>(workload.jobs[row].spec.asked_gpus);
    MetShare& share = kept.by_asked_gpus[static_cast<std::int32_t>(std::bit_ceil(asked))];
    ++share.with_deadline;
    if (!job.finished) continue;
    const double allowed = to_seconds(job.deadline - job.submitted);
    kept.slack_percent.push_back(to_seconds(job.deadline - *job.finished) / allowed * 100);
    const bool counts = job.is_promised || !outcome.makes_promises;
    if (counts && *job.finished <= job.deadline) ++share.met;
  }
  std::sort(kept.completion_hours.begin(), kept.completion_hours.end());
  std::sort(kept.slack_percent.begin(), kept.slack_percent.end());
}

using TrainingFigure = std::function<std::optional<double>(const TrainingSummary&)>;

// Nothing when no run has the figure.
std::optional<Spread> spread_over(SeedRuns runs, const TrainingFigure& figure) {
  std::vector<double> values;
  for (const ComparedRun& run : runs) {
    if (const auto value = figure(run.summary)) values.push_back(*value);
  }
  return spread_of(values);
}

std::optional<double> mean_over(SeedRuns runs, const TrainingFigure& figure) {
  const auto spread = spread_over(runs, figure);
  return spread ? std::optional{spread->mean} : std::nullopt;
}

// Counts have decimals only where they are means.
std::string count_text(SeedRuns runs, const TrainingFigure& figure) {
  return to_string(spread_over(runs, figure), runs.size() > 1 ? 1 : 0);
}

std::optional<double> as_figure(const std::optional<std::int64_t>& count) {
  return count ? std::optional{static_cast<double>(*count)} : std::nullopt;
}

std::string mean_text(const std::optional<double>& mean, std::size_t seeds) {
  return mean ? fmt::format("{:.{}f}", *mean, seeds > 1 ? 1 : 0) : "-";
}

std::vector<std::string> row_of(SeedRuns runs, bool has_seconds) {
  const TrainingSummary& first = runs.front().summary;
  const auto count = [&](auto member) {
    return count_text(runs, [member](const TrainingSummary& run) {
      return as_figure(std::optional<std::int64_t>{run.*member});
    });
  };
  const auto figure = [&](auto member, int decimals) {
    return to_string(
        spread_over(runs, [member](const TrainingSummary& run) { return run.*member; }), decimals);
  };
  std::vector<std::string> row = {
      first.workload,
      fmt::format("{}", first.gpus),
      first.policy,
      fmt::format("{}", first.jobs),
      count(&TrainingSummary::met),
      to_string(spread_over(runs, [](const TrainingSummary& run) { return run.met_percent(); }), 1),
      count(&TrainingSummary::admitted),
      count(&TrainingSummary::missed_after_admission),
      figure(&TrainingSummary::mean_jct_s, 0),
      figure(&TrainingSummary::p99_jct_s, 0),
      count(&TrainingSummary::rescales),
      figure(&TrainingSummary::utilisation_percent, 1)};
  if (has_seconds) row.push_back(figure(&TrainingSummary::seconds, 3));
  return row;
}

bool is_faster(SeedRuns a, SeedRuns b) {
  const auto jct = mean_jct(a);
  const auto other = mean_jct(b);
  return jct && (!other || *jct < *other);
}

bool is_better(SeedRuns a, SeedRuns b) {
  const auto met = mean_met(a);
  const auto other = mean_met(b);
  return met != other ? met > other : is_faster(a, b);
}

}  // namespace

ComparedRun compared_run(std::size_t trace, const simulate::TrainingSweepRun& run,
                         const TrainingWorkload& workload, Detail detail) {
  ComparedRun kept;
  kept.trace = trace;
  kept.summary = summarise(run);
  if (detail == Detail::with_plots) add_details(kept, run.outcome, workload);
  return kept;
}

std::vector<SeedRuns> by_trace_and_policy(std::span<const ComparedRun> runs) {
  std::vector<SeedRuns> groups;
  std::size_t from = 0;
  for (std::size_t i = 1; i <= runs.size(); ++i) {
    if (i < runs.size() && runs[i].trace == runs[from].trace &&
        runs[i].summary.policy == runs[from].summary.policy)
      continue;
    groups.push_back(runs.subspan(from, i - from));
    from = i;
  }
  return groups;
}

std::optional<double> mean_met(SeedRuns runs) {
  return mean_over(runs, [](const TrainingSummary& run) {
    return as_figure(std::optional<std::int64_t>{run.met});
  });
}

std::optional<double> mean_jct(SeedRuns runs) {
  return mean_over(runs, [](const TrainingSummary& run) { return run.mean_jct_s; });
}

std::vector<TraceVerdict> trace_verdicts(std::span<const ComparedRun> runs) {
  std::vector<TraceVerdict> verdicts;
  for (const SeedRuns& policy : by_trace_and_policy(runs)) {
    const ComparedRun& first = policy.front();
    if (verdicts.empty() || verdicts.back().trace != first.trace)
      verdicts.push_back({first.trace, first.summary.workload, {}, {}, {}});
    TraceVerdict& verdict = verdicts.back();
    if (first.summary.policy == kOurs) {
      verdict.weir = policy;
    } else if (!verdict.best_other || is_better(policy, *verdict.best_other)) {
      verdict.best_other = policy;
    }
    if (mean_jct(policy) && (!verdict.fastest || is_faster(policy, *verdict.fastest)))
      verdict.fastest = policy;
  }
  return verdicts;
}

Table comparison_table(std::span<const ComparedRun> runs) {
  const bool has_seconds = std::any_of(runs.begin(), runs.end(), [](const ComparedRun& run) {
    return run.summary.seconds.has_value();
  });
  Table table{"All runs",
              {{"trace", Align::left},
               {"GPUs"},
               {"policy", Align::left},
               {"jobs"},
               {"met"},
               {"met %"},
               {"admitted"},
               {"missed"},
               {"mean JCT s"},
               {"p99 JCT s"},
               {"rescales"},
               {"GPUs used %"}},
              {}};
  if (has_seconds) table.columns.push_back({"seconds"});
  for (const SeedRuns& policy : by_trace_and_policy(runs))
    table.rows.push_back(row_of(policy, has_seconds));
  return table;
}

std::optional<Table> rivalry_table(std::span<const ComparedRun> runs) {
  Table table{"weir beside the best of the others",
              {{"trace", Align::left},
               {"GPUs"},
               {"deadlines"},
               {"weir met"},
               {"best other", Align::left},
               {"met"},
               {"difference"},
               {"lowest mean JCT", Align::left},
               {"mean JCT s"},
               {"weir's"}},
              {}};
  for (const TraceVerdict& verdict : trace_verdicts(runs)) {
    if (!verdict.weir || !verdict.best_other) continue;
    const TrainingSummary& first = verdict.weir->front().summary;
    const std::size_t seeds = verdict.weir->size();
    const double ours = mean_met(*verdict.weir).value_or(0);
    const double theirs = mean_met(*verdict.best_other).value_or(0);
    table.rows.push_back({verdict.name, fmt::format("{}", first.gpus),
                          fmt::format("{}", first.with_deadline), mean_text(ours, seeds),
                          verdict.best_other->front().summary.policy, mean_text(theirs, seeds),
                          fmt::format("{:+.{}f}", ours - theirs, seeds > 1 ? 1 : 0),
                          verdict.fastest ? verdict.fastest->front().summary.policy : "-",
                          verdict.fastest ? mean_text(mean_jct(*verdict.fastest), 1) : "-",
                          mean_text(mean_jct(*verdict.weir), 1)});
  }
  if (table.rows.empty()) return std::nullopt;
  return table;
}

std::string_view comparison_legend() {
  return "met: jobs done by their deadline as promised; under policies that promise nothing (-), "
         "jobs done in time.\n"
         "missed: promised and late. JCT: from submission to finish, of jobs that finished: a "
         "policy that refuses\n"
         "long jobs has a lower one. GPUs used: GPU-time given to jobs, from the first submission "
         "to the last finish.\n";
}

}  // namespace weir::report
