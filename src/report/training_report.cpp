// SPDX-License-Identifier: Apache-2.0
#include "report/training_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "report/gantt.h"
#include "report/network_times.h"
#include "report/report_data.h"
#include "report/share_curve.h"
#include "report/shown_run_json.h"
#include "report/svg_plot.h"
#include "report/training_output.h"
#include "report/training_summary.h"
#include "report/usage_plot.h"

namespace weir::report {
namespace {

using simulate::TrainingJobOutcome;
using simulate::TrainingSweepRun;

constexpr std::size_t kCurvePoints = 120;

// The runs of one trace, one after the other.
using TrainingRuns = std::span<const TrainingSweepRun>;

std::vector<TrainingRuns> by_trace(TrainingRuns runs) {
  std::vector<TrainingRuns> groups;
  std::size_t from = 0;
  for (std::size_t i = 1; i <= runs.size(); ++i) {
    if (i < runs.size() && runs[i].jobs_file == runs[from].jobs_file &&
        runs[i].workload == runs[from].workload)
      continue;
    groups.push_back(runs.subspan(from, i - from));
    from = i;
  }
  return groups;
}

// Whose run it is, told apart from those with other seeds.
std::string label_of(const TrainingSweepRun& run) {
  return run.outcome.policy + (run.outcome.network ? ", " + run.outcome.network->placement : "") +
         (run.seed ? fmt::format(", seed {}", *run.seed) : "");
}

std::string met_figure(std::span<const TrainingRuns> traces,
                       std::span<const TrainingSummary> summaries) {
  BarPlot plot{"Jobs that met their deadline", "jobs", {}, {}, 0};
  for (const TrainingRuns& runs : traces) plot.groups.push_back(runs.front().workload);
  const std::size_t policies = traces.front().size();
  for (std::size_t p = 0; p < policies; ++p) {
    BarSeries series{label_of(traces.front()[p]), p, {}};
    for (std::size_t t = 0; t < traces.size(); ++t) {
      const auto met = static_cast<double>(summaries[t * policies + p].met);
      series.bars.push_back(Bar{met, met, met});
    }
    plot.series.push_back(std::move(series));
  }
  Table table{"Jobs that met their deadline", {{"trace", Align::left}}, {}};
  for (const BarSeries& series : plot.series) table.columns.push_back({series.name});
  for (std::size_t t = 0; t < traces.size(); ++t) {
    std::vector<std::string> row = {plot.groups[t]};
    for (const BarSeries& series : plot.series)
      row.push_back(fmt::format("{:.0f}", series.bars[t]->value));
    table.rows.push_back(std::move(row));
  }
  return figure("Deadlines met",
                "Jobs done by their deadline. Under policies that make promises only jobs count "
                "that were promised it. Longer is better.",
                to_svg(plot), table);
}

std::string completion_figure(const TrainingRuns& runs) {
  LinePlot plot;
  plot.title = "Completion times, " + runs.front().workload;
  plot.x_label = "hours from submission to finish";
  plot.y_label = "% of all jobs";
  plot.y_least = 0;
  plot.y_most = 100;
  plot.decimals = 1;
  plot.x_is_log = true;
  for (std::size_t p = 0; p < runs.size(); ++p) {
    std::vector<double> hours;
    for (const TrainingJobOutcome& job : runs[p].outcome.by_job) {
      if (job.finished) hours.push_back(to_seconds(*job.finished - job.submitted) / 3600);
    }
    std::sort(hours.begin(), hours.end());
    plot.series.push_back(
        share_curve(label_of(runs[p]), p, hours, runs[p].outcome.by_job.size(), kCurvePoints));
  }
  const Table table =
      quantile_table(plot, "Hours within which that share of all jobs was done; - when never");
  return figure("How long jobs took: " + runs.front().workload,
                "How many of all jobs were done within a time. A curve that stays below 100 % "
                "refused the others. Further left is faster.",
                to_svg(plot), table);
}

std::string slack_figure(const TrainingRuns& runs) {
  LinePlot plot;
  plot.title = "Time to spare at the deadline, " + runs.front().workload;
  plot.x_label = "time left at the finish, % of the time allowed (below 0: late)";
  plot.y_label = "% of jobs with a deadline";
  plot.y_least = 0;
  plot.y_most = 100;
  plot.decimals = 1;
  for (std::size_t p = 0; p < runs.size(); ++p) {
    std::vector<double> slack;
    std::size_t with_deadline = 0;
    for (const TrainingJobOutcome& job : runs[p].outcome.by_job) {
      if (!job.has_deadline) continue;
      ++with_deadline;
      if (!job.finished) continue;
      const double allowed = to_seconds(job.deadline - job.submitted);
      const double left = to_seconds(job.deadline - *job.finished) / allowed * 100;
      slack.push_back(std::max(kLatestShown, left));
    }
    std::sort(slack.begin(), slack.end(), std::greater<>{});
    PlotSeries series = share_curve(label_of(runs[p]), p, slack, with_deadline, kCurvePoints);
    std::reverse(series.points.begin(), series.points.end());  // x ascending
    plot.series.push_back(std::move(series));
  }
  Table table{"", {{"policy", Align::left}, {"in time %"}, {"late %"}, {"not done %"}}, {}};
  for (const TrainingSweepRun& run : runs) {
    double in_time = 0;
    double late = 0;
    for (const TrainingJobOutcome& job : run.outcome.by_job) {
      if (!job.has_deadline || !job.finished) continue;
      (*job.finished <= job.deadline ? in_time : late) += 1;
    }
    const double whole = std::max(1.0, static_cast<double>(run.outcome.with_deadline)) / 100;
    table.rows.push_back({label_of(run), fmt::format("{:.1f}", in_time / whole),
                          fmt::format("{:.1f}", late / whole),
                          fmt::format("{:.1f}", 100 - (in_time + late) / whole)});
  }
  return figure("Time to spare: " + runs.front().workload,
                "How many jobs had at least so much of their time left when they were done. At 0 "
                "a curve shows the jobs that were in time; what it gains left of 0 was late.",
                to_svg(plot), table);
}

// Means by the GPUs that jobs asked for; nothing without a network.
std::string network_figure(const TrainingRuns& runs) {
  std::set<std::int32_t> sizes;
  for (const TrainingSweepRun& run : runs) {
    if (!run.outcome.network) continue;
    for (const auto& times : run.outcome.network->by_size) sizes.insert(times.gpus);
  }
  if (sizes.empty()) return {};
  BarPlot plot{"Mean completion time by size, " + runs.front().workload, "hours", {}, {}, 2};
  for (const std::int32_t gpus : sizes) plot.groups.push_back(fmt::format("{} GPUs", gpus));
  for (std::size_t p = 0; p < runs.size(); ++p) {
    BarSeries series{label_of(runs[p]), p, {}};
    for (const std::int32_t gpus : sizes) {
      std::optional<Bar> bar;
      if (runs[p].outcome.network) {
        for (const auto& times : runs[p].outcome.network->by_size) {
          const double hours = times.completion / 3600;
          if (times.gpus == gpus) bar = Bar{hours, hours, hours};
        }
      }
      series.bars.push_back(bar);
    }
    plot.series.push_back(std::move(series));
  }
  std::vector<TrainingSummary> summaries;
  for (const TrainingSweepRun& run : runs) summaries.push_back(summarise(run));
  const auto tables = network_tables(summaries);
  return figure("Completion time by size: " + runs.front().workload,
                "Mean time from submission to finish, by the GPUs that jobs asked for. Small jobs "
                "seldom leave their leaf; look at the large ones. Shorter is better.",
                to_svg(plot), tables.front());
}

std::string name_of(const TrainingSweepRun& run) {
  return fmt::format("{}, {}", label_of(run), run.workload);
}

std::string data_of(const ReportHeader& header, TrainingRuns runs,
                    std::vector<TrainingSummary> summaries, const std::optional<ShownRun>& shown) {
  for (TrainingSummary& summary : summaries) summary.seconds.reset();  // not of the runs themselves
  std::vector<Result<std::string>> details;
  if (shown) {
    const TrainingSweepRun& run = runs[shown->run];
    details.push_back(shown_run_json(*shown, name_of(run), run.gpus));
  }
  return report_data(training_json(summaries), header, details);
}

std::string headline_of(std::span<const TrainingSummary> summaries) {
  if (summaries.empty()) return "";
  const auto best = std::max_element(
      summaries.begin(), summaries.end(),
      [](const TrainingSummary& a, const TrainingSummary& b) { return a.met < b.met; });
  const bool is_one_trace =
      std::all_of(summaries.begin(), summaries.end(), [&](const TrainingSummary& summary) {
        return summary.workload == summaries.front().workload;
      });
  if (!is_one_trace) return "";
  std::string text = fmt::format("{} of {} jobs with a deadline meet it under {}.", best->met,
                                 best->with_deadline, best->policy);
  if (best->admitted) {
    text += fmt::format(" It promised {} and missed {}.", *best->admitted,
                        *best->missed_after_admission == 0
                            ? std::string{"none"}
                            : fmt::format("{}", *best->missed_after_admission));
  }
  return text;
}

}  // namespace

std::string shown_figures(const ShownRun& shown, const std::string& where, std::int64_t gpus) {
  const GpuUsage usage = gpu_usage(shown.history, kUsageStretches);
  const Gantt chart = gantt(shown.history, shown.pools);
  std::string explanation =
      "Each rectangle is a job on its GPUs. Solid is what its promise needed, light is what it was "
      "lent while nobody else was promised it. Hover for the job, the time and the reason.";
  if (!chart.note.empty()) explanation += " " + chart.note;
  return figure("GPUs in use: " + where,
                "The dark layer is what promises needed at that time. The light one was lent: to "
                "finish early, or to jobs without a promise.",
                usage_svg(usage, gpus, "GPUs in use, " + where), usage_table(usage)) +
         fmt::format("<style>{}</style>\n", gantt_style()) + "<div class=\"wide\">" +
         figure("Who ran where: " + where, explanation,
                "<div class=\"scroll\" tabindex=\"0\">" + chart.svg + "</div>",
                gantt_table(shown.history)) +
         "</div>\n";
}

std::string training_report(const ReportHeader& header, TrainingRuns runs,
                            const std::optional<ShownRun>& shown) {
  const std::vector<TrainingSummary> summaries = summarise(runs);
  const std::vector<TrainingRuns> traces = by_trace(runs);
  std::string content;
  if (!runs.empty()) {
    content += "<h2>Summary</h2>\n";
    for (const Table& table : training_tables(summaries)) content += to_html(table);
    for (const Table& table : tenant_tables(summaries)) content += to_html(table);
    content += met_figure(traces, summaries);
    if (shown) {
      const TrainingSweepRun& run = runs[shown->run];
      content += shown_figures(*shown, name_of(run), run.gpus);
    }
    for (const TrainingRuns& trace : traces) {
      const std::string figures =
          network_figure(trace) + completion_figure(trace) + slack_figure(trace);
      content +=
          traces.size() == 1 ? figures : folded("Plots of " + trace.front().workload, figures);
    }
  }
  return page(header, "Which training jobs meet their deadlines?", headline_of(summaries), content,
              "Hover over a line, bar or rectangle for what it stands for.",
              runs.empty() ? "" : data_of(header, runs, summaries, shown));
}

}  // namespace weir::report
