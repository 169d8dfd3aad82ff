// SPDX-License-Identifier: Apache-2.0
#include "report/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "report/gpus_text.h"
#include "report/report_data.h"
#include "report/share_curve.h"
#include "report/shown_run_json.h"
#include "report/svg_plot.h"
#include "report/training_output.h"

namespace weir::report {
namespace {

constexpr std::size_t kComparedPoints = 200;
constexpr std::size_t kMarks = 16;  // a page of many plots stays small

// The runs of one trace: for each policy those of its seeds.
using Policies = std::span<const SeedRuns>;

std::vector<Policies> by_trace(Policies policies) {
  std::vector<Policies> traces;
  std::size_t from = 0;
  for (std::size_t i = 1; i <= policies.size(); ++i) {
    if (i < policies.size() && policies[i].front().trace == policies[from].front().trace) continue;
    traces.push_back(policies.subspan(from, i - from));
    from = i;
  }
  return traces;
}

const TrainingSummary& first_of(const Policies& policies) {
  return policies.front().front().summary;
}

std::string title_of(const Policies& policies) {
  const TrainingSummary& first = first_of(policies);
  return first.cluster.empty() ? first.workload : first.workload + " on " + first.cluster;
}

LinePlot share_plot(std::string title, std::string x_label, std::string y_label) {
  LinePlot plot;
  plot.title = std::move(title);
  plot.x_label = std::move(x_label);
  plot.y_label = std::move(y_label);
  plot.y_least = 0;
  plot.y_most = 100;
  plot.decimals = 1;
  plot.marks = kMarks;
  return plot;
}

// The values of all seeds together, sorted.
template <class Order>
std::vector<double> pooled(SeedRuns runs, std::vector<double> ComparedRun::*values, Order order) {
  std::vector<double> all;
  for (const ComparedRun& run : runs)
    all.insert(all.end(), (run.*values).begin(), (run.*values).end());
  std::sort(all.begin(), all.end(), order);
  return all;
}

std::size_t total(SeedRuns runs, std::int64_t TrainingSummary::*count) {
  std::size_t sum = 0;
  for (const ComparedRun& run : runs) sum += static_cast<std::size_t>(run.summary.*count);
  return sum;
}

std::string completion_figure(const Policies& policies) {
  const std::string name = title_of(policies);
  LinePlot plot =
      share_plot("Completion times, " + name, "hours from submission to finish", "% of all jobs");
  plot.x_is_log = true;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    const auto hours = pooled(policies[p], &ComparedRun::completion_hours, std::less<>{});
    plot.series.push_back(share_curve(policies[p].front().summary.policy, p, hours,
                                      total(policies[p], &TrainingSummary::jobs), kComparedPoints));
  }
  const Table table =
      quantile_table(plot, "Hours within which that share of all jobs was done; - when never");
  return figure("How long jobs took: " + name,
                "How many of all jobs were done within a time. A curve that stays below 100 % "
                "refused the others. Further left is faster.",
                to_svg(plot), table);
}

std::string slack_figure(const Policies& policies) {
  const std::string name = title_of(policies);
  LinePlot plot = share_plot("Time to spare at the deadline, " + name,
                             "time left at the finish, % of the time allowed (below 0: late)",
                             "% of jobs with a deadline");
  Table table{"", {{"policy", Align::left}, {"in time %"}, {"late %"}, {"never done %"}}, {}};
  for (std::size_t p = 0; p < policies.size(); ++p) {
    auto slack = pooled(policies[p], &ComparedRun::slack_percent, std::greater<>{});
    for (double& left : slack) left = std::max(kLatestShown, left);
    const std::size_t with_deadline = total(policies[p], &TrainingSummary::with_deadline);
    const std::string& policy = policies[p].front().summary.policy;
    PlotSeries series = share_curve(policy, p, slack, with_deadline, kComparedPoints);
    std::reverse(series.points.begin(), series.points.end());  // x ascending
    plot.series.push_back(std::move(series));
    const auto in_time = static_cast<double>(
        std::count_if(slack.begin(), slack.end(), [](double left) { return left >= 0; }));
    const double percent = std::max(1.0, static_cast<double>(with_deadline)) / 100;
    const double late = static_cast<double>(slack.size()) - in_time;
    table.rows.push_back({policy, fmt::format("{:.1f}", in_time / percent),
                          fmt::format("{:.1f}", late / percent),
                          fmt::format("{:.1f}", 100 - (in_time + late) / percent)});
  }
  return figure("Time to spare: " + name,
                "How many jobs had at least so much of their time left when they were done. At 0 "
                "a curve shows the jobs that were in time; what it gains left of 0 was late. Jobs "
                "that were refused or never done are in no curve.",
                to_svg(plot), table);
}

MetShare share_of(SeedRuns runs, std::int32_t gpus) {
  MetShare sum;
  for (const ComparedRun& run : runs) {
    const auto share = run.by_asked_gpus.find(gpus);
    if (share == run.by_asked_gpus.end()) continue;
    sum.with_deadline += share->second.with_deadline;
    sum.met += share->second.met;
  }
  return sum;
}

std::string size_figure(const Policies& policies) {
  const std::string name = title_of(policies);
  std::set<std::int32_t> sizes;
  for (const auto& [gpus, share] : policies.front().front().by_asked_gpus) sizes.insert(gpus);
  if (sizes.empty()) return "";
  BarPlot plot{"Deadlines met by size, " + name, "% of jobs with a deadline", {}, {}, 1};
  Table table{
      "% of jobs with a deadline that met it, by GPUs asked for", {{"policy", Align::left}}, {}};
  for (const std::int32_t gpus : sizes) {
    const MetShare share = share_of(policies.front().first(1), gpus);
    plot.groups.push_back(gpus_text(gpus));
    table.columns.push_back({fmt::format("{} ({} jobs)", gpus, share.with_deadline)});
  }
  for (std::size_t p = 0; p < policies.size(); ++p) {
    BarSeries series{policies[p].front().summary.policy, p, {}};
    std::vector<std::string> row = {series.name};
    for (const std::int32_t gpus : sizes) {
      const MetShare share = share_of(policies[p], gpus);
      const double percent = static_cast<double>(share.met) * 100 /
                             static_cast<double>(std::max<std::int64_t>(1, share.with_deadline));
      series.bars.push_back(Bar{percent, percent, percent});
      row.push_back(fmt::format("{:.1f}", percent));
    }
    plot.series.push_back(std::move(series));
    table.rows.push_back(std::move(row));
  }
  return figure("Deadlines met by size: " + name,
                "Jobs by the GPUs their users asked for, rounded up to a power of two. Elastic "
                "policies need not give them that many.",
                to_svg(plot), table);
}

// The part of the table of all runs that is about one trace.
Table trace_table(const Policies& policies) {
  const SeedRuns& last = policies.back();
  const ComparedRun* first = policies.front().data();
  Table table = comparison_table({first, last.data() + last.size()});
  const TrainingSummary& summary = first_of(policies);
  table.title = fmt::format("{}: {} jobs, {} with a deadline, on {} GPUs", title_of(policies),
                            summary.jobs, summary.with_deadline, summary.gpus);
  // Of one trace its name, its GPUs and its jobs need not stand in every row.
  for (const std::size_t column : {3U, 1U, 0U}) {
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
  return table;
}

std::string data_of(const ReportHeader& header, std::span<const ComparedRun> runs,
                    std::span<const NamedRun> shown) {
  std::vector<TrainingSummary> summaries;
  for (const ComparedRun& run : runs) {
    summaries.push_back(run.summary);
    summaries.back().seconds.reset();  // not of the runs themselves
  }
  std::vector<Result<std::string>> details;
  for (const NamedRun& run : shown)
    details.push_back(shown_run_json(run.shown, run.name, run.gpus));
  return report_data(training_json(summaries), header, details);
}

std::string headline_of(std::span<const ComparedRun> runs) {
  int more = 0;
  int equal = 0;
  int fewer = 0;
  for (const TraceVerdict& verdict : trace_verdicts(runs)) {
    if (!verdict.weir || !verdict.best_other) return "";
    const double ours = mean_met(*verdict.weir).value_or(0);
    const double theirs = mean_met(*verdict.best_other).value_or(0);
    ++(ours > theirs ? more : ours == theirs ? equal : fewer);
  }
  if (more + equal + fewer == 0) return "";
  return fmt::format(
      "Beside the best other policy of each trace, weir meets more deadlines on {} of {} traces, "
      "as many on {} and fewer on {}.",
      more, more + equal + fewer, equal, fewer);
}

}  // namespace

std::string comparison_report(const ReportHeader& header, std::span<const ComparedRun> runs,
                              std::span<const NamedRun> shown) {
  const std::vector<SeedRuns> policies = by_trace_and_policy(runs);
  const std::vector<Policies> traces = by_trace(policies);
  std::string content;
  if (const auto table = rivalry_table(runs)) content += "<h2>Summary</h2>\n" + to_html(*table);
  content += "<h2>Traces</h2>\n";
  for (const Policies& trace : traces) {
    content += to_html(trace_table(trace));
    const std::string figures = completion_figure(trace) + slack_figure(trace) + size_figure(trace);
    content += traces.size() == 1 ? figures : folded("Plots of " + title_of(trace), figures);
  }
  for (const NamedRun& run : shown) content += shown_figures(run.shown, run.name, run.gpus);
  return page(header, "Which policy meets more deadlines?", headline_of(runs), content,
              "Hover over a line, bar or rectangle for what it stands for. JCT: from submission to "
              "finish, of jobs that finished; a policy that refuses long jobs has a lower one.",
              runs.empty() ? "" : data_of(header, runs, shown));
}

}  // namespace weir::report
