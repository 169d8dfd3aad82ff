// SPDX-License-Identifier: Apache-2.0
#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/churn_summary.h"
#include "report/html_page.h"
#include "report/inflation_summary.h"
#include "report/inflation_tables.h"
#include "report/outcome_json.h"
#include "report/report_data.h"
#include "report/svg_plot.h"
#include "report/table.h"

namespace weir::report {
namespace {

constexpr std::string_view kFooter =
    "Each line is a mean over seeds; the band reaches from the lowest to the highest. Hover over a "
    "line or bar for its value.";

// The last policy of a table is the strongest and gets the most striking style.
std::size_t style_of(std::size_t position, std::size_t count) {
  return count - 1 - position;
}

PlotSeries series_of(const InflationSummary& summary, const InflationSummary::Curve& curve,
                     std::size_t style) {
  PlotSeries series{summary.policy, style, {}};
  for (std::size_t percent = 0; percent < curve.size(); ++percent) {
    if (const auto& spread = curve[percent]) {
      series.points.push_back(
          {static_cast<double>(percent), spread->mean, spread->least, spread->most});
    }
  }
  return series;
}

LinePlot curve_plot(const ListSummary& list, InflationSummary::Curve InflationSummary::*curve) {
  LinePlot plot;
  plot.x_label = "GPU demand arrived, % of capacity";
  plot.hover_step = 5;
  for (std::size_t i = 0; i < list.policies.size(); ++i) {
    const InflationSummary& summary = list.policies[i];
    plot.series.push_back(series_of(summary, summary.*curve, style_of(i, list.policies.size())));
  }
  return plot;
}

// Until the cluster fills up all policies place everything. The plot starts where they part: the
// last multiple of ten up to which the lowest and the highest mean differ by less than half a
// point.
double where_policies_part(const ListSummary& list) {
  constexpr double kSame = 2;
  constexpr double kLatest = 90;
  for (std::size_t percent = 0; percent <= InflationSummary::kLastPercent; ++percent) {
    double least = 0;
    double most = 0;
    bool is_first = true;
    for (const InflationSummary& summary : list.policies) {
      if (!summary.allocated[percent]) continue;
      const double mean = summary.allocated[percent]->mean;
      least = is_first ? mean : std::min(least, mean);
      most = is_first ? mean : std::max(most, mean);
      is_first = false;
    }
    const auto x = static_cast<double>(percent);
    if (most - least >= kSame || x - least >= kSame)
      return std::min(kLatest, static_cast<double>(percent / 10 * 10));
  }
  return 0;
}

std::string allocation_figure(const ListSummary& list) {
  LinePlot plot = curve_plot(list, &InflationSummary::allocated);
  plot.title = "GPUs allocated against GPU demand arrived, " + list.workload;
  plot.y_label = "allocated, % of capacity";
  plot.x_from = where_policies_part(list);
  plot.y_most = 100;
  plot.diagonal = true;
  return figure(
      "GPUs in use: " + list.workload,
      "How much of the cluster is allocated as demand arrives. The dotted line is a cluster "
      "that strands nothing; the distance below it is what fragments cost.",
      to_svg(plot), allocation_curve_table(list));
}

std::string fragmentation_figure(const ListSummary& list) {
  LinePlot plot = curve_plot(list, &InflationSummary::fragmented);
  plot.title = "Fragmented GPUs against GPU demand arrived, " + list.workload;
  plot.y_label = "fragmented, % of capacity";
  plot.y_least = 0;
  return figure("Fragments: " + list.workload,
                "Free GPU that an average task of this list cannot use.", to_svg(plot),
                fragmentation_curve_table(list));
}

std::string stranded_figure(std::span<const ListSummary> lists) {
  BarPlot plot{"GPUs stranded when demand equals capacity", "GPUs stranded", {}, {}, 1};
  for (const ListSummary& list : lists) plot.groups.push_back(list.workload);
  const std::vector<InflationSummary>& policies = lists.front().policies;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    BarSeries series{policies[i].policy, style_of(i, policies.size()), {}};
    for (const ListSummary& list : lists) {
      const auto& spread = i < list.policies.size() ? list.policies[i].stranded_gpus : std::nullopt;
      series.bars.push_back(spread ? std::optional<Bar>{{spread->mean, spread->least, spread->most}}
                                   : std::nullopt);
    }
    plot.series.push_back(std::move(series));
  }
  return figure("GPUs stranded when demand equals capacity",
                "GPUs that stay unallocated although enough demand for all of them has arrived. "
                "Shorter is better.",
                to_svg(plot), stranded_table(lists));
}

bool strands_fewer(const InflationSummary& a, const InflationSummary& b) {
  return a.stranded_gpus && (!b.stranded_gpus || a.stranded_gpus->mean < b.stranded_gpus->mean);
}

// Null when no policy has a figure: no submission of a small list may round to 100 %.
const InflationSummary* fewest_stranded(const ListSummary& list) {
  const auto best = std::min_element(list.policies.begin(), list.policies.end(), strands_fewer);
  return best == list.policies.end() || !best->stranded_gpus ? nullptr : &*best;
}

std::string headline_of(const ListSummary& list) {
  const InflationSummary* best = fewest_stranded(list);
  if (best == nullptr) return "";
  const auto gpus = best->capacity.value / kWholeGpu.value;
  const InflationSummary* worst = best;
  for (const InflationSummary& summary : list.policies) {
    if (summary.stranded_gpus && strands_fewer(*worst, summary)) worst = &summary;
  }
  if (worst == best) {
    return fmt::format("On {}, {} strands {:.0f} of {} GPUs when demand equals capacity.",
                       list.workload, best->policy, best->stranded_gpus->mean, gpus);
  }
  return fmt::format(
      "On {}, {} strands the fewest GPUs: {:.0f} of {} when demand equals capacity. The most: "
      "{:.0f}, "
      "with {}.",
      list.workload, best->policy, best->stranded_gpus->mean, gpus, worst->stranded_gpus->mean,
      worst->policy);
}

// Over several lists: on how many each policy comes first.
std::string headline_of(std::span<const ListSummary> lists) {
  if (lists.empty()) return "";
  if (lists.size() == 1) return headline_of(lists.front());
  std::string text;
  for (const InflationSummary& candidate : lists.front().policies) {
    const auto wins = std::count_if(lists.begin(), lists.end(), [&](const ListSummary& list) {
      const InflationSummary* best = fewest_stranded(list);
      return best != nullptr && best->policy == candidate.policy;
    });
    if (wins == 0) continue;
    text = fmt::format("{} strands the fewest GPUs on {} of {} lists. ", candidate.policy, wins,
                       lists.size()) +
           text;
  }
  return text;
}

std::vector<std::vector<ChurnSummary>> churn_groups(std::span<const ChurnSummary> summaries) {
  std::vector<std::vector<ChurnSummary>> groups;
  for (const ChurnSummary& summary : summaries) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) {
      return known.front().workload == summary.workload &&
             known.front().tasks_file == summary.tasks_file && known.front().queue == summary.queue;
    });
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->push_back(summary);
  }
  return groups;
}

LinePlot load_plot(const std::vector<ChurnSummary>& group,
                   std::optional<Spread> ChurnSummary::*figure_of, double unit = 1) {
  LinePlot plot;
  plot.x_label = "offered GPU load";
  for (const ChurnSummary& summary : group) {
    auto series =
        std::find_if(plot.series.begin(), plot.series.end(),
                     [&](const PlotSeries& known) { return known.name == summary.policy; });
    if (series == plot.series.end()) {
      series = plot.series.insert(series, PlotSeries{summary.policy, 0, {}});
    }
    if (const auto& spread = summary.*figure_of) {
      series->points.push_back(
          {summary.load, spread->mean / unit, spread->least / unit, spread->most / unit});
    }
  }
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    PlotSeries& series = plot.series[i];
    series.style = style_of(i, plot.series.size());
    std::stable_sort(series.points.begin(), series.points.end(),
                     [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
  }
  return plot;
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};

// The largest unit in which the longest wait is still a number of some size.
TimeUnit unit_for_waits(const std::vector<ChurnSummary>& group) {
  double longest = 0;
  for (const ChurnSummary& summary : group) {
    if (summary.wait_mean_s) longest = std::max(longest, summary.wait_mean_s->most);
  }
  if (longest >= 7200) return {"hours", 3600};
  return longest >= 300 ? TimeUnit{"minutes", 60} : TimeUnit{"seconds", 1};
}

std::string churn_figures(const std::vector<ChurnSummary>& group) {
  const ChurnSummary& first = group.front();
  const std::string where = fmt::format("{}, {} queue", first.workload, first.queue);
  const Table table = churn_tables(group).front();
  const TimeUnit unit = unit_for_waits(group);
  LinePlot wait = load_plot(group, &ChurnSummary::wait_mean_s, unit.seconds);
  wait.title = "Mean wait against offered load, " + where;
  wait.y_label = fmt::format("mean wait, {}", unit.name);
  wait.y_least = 0;
  wait.decimals = 1;
  LinePlot allocated = load_plot(group, &ChurnSummary::allocated_percent);
  allocated.title = "GPUs allocated against offered load, " + where;
  allocated.y_label = "allocated, % of capacity";
  return figure("Waiting: " + where, "Mean time from submission to start, over all jobs that ran.",
                to_svg(wait), table) +
         figure("GPUs in use: " + where, "Time average while jobs arrive.", to_svg(allocated),
                table);
}

template <class Outcome>
std::string data_of(const ReportHeader& header, std::span<const Outcome> outcomes) {
  if (outcomes.empty()) return "";
  std::vector<Outcome> untimed{outcomes.begin(), outcomes.end()};
  for (Outcome& outcome : untimed) outcome.timing.reset();  // not of the runs themselves
  return report_data(outcome_json(untimed), header);
}

}  // namespace

std::string html_report(const ReportHeader& header,
                        std::span<const simulate::InflationOutcome> outcomes) {
  const std::vector<ListSummary> lists = by_list(summarise(outcomes));
  std::string content;
  if (!lists.empty()) {
    const std::vector<Table> tables = inflation_tables(lists);
    content += "<h2>Summary</h2>\n" + to_html(tables.front());
    for (std::size_t i = 1; i < tables.size(); ++i) {
      content += folded(tables[i].title, to_html(tables[i]));
    }
    content += stranded_figure(lists);
    for (const ListSummary& list : lists) {
      const std::string figures = allocation_figure(list) + fragmentation_figure(list);
      content += lists.size() == 1 ? figures : folded("Plots of " + list.workload, figures);
    }
  }
  return page(header, "Which policy strands the fewest GPUs?", headline_of(lists), content, kFooter,
              data_of(header, outcomes));
}

std::string html_report(const ReportHeader& header,
                        std::span<const simulate::ChurnOutcome> outcomes) {
  const std::vector<ChurnSummary> summaries = summarise(outcomes);
  std::string content = summaries.empty() ? "" : "<h2>Summary</h2>\n";
  for (const Table& table : churn_tables(summaries)) content += to_html(table);
  for (const auto& group : churn_groups(summaries)) content += churn_figures(group);
  return page(header, "How long do jobs wait under each policy?", "", content, kFooter,
              data_of(header, outcomes));
}

}  // namespace weir::report
