// SPDX-License-Identifier: Apache-2.0
#include "report/partition_tables.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "formats/json_text.h"
#include "report/report_data.h"
#include "report/svg_plot.h"

namespace weir::report {

using simulate::FabricRule;
using simulate::FragmentationResult;
using simulate::JobTimes;
using simulate::SchemeOutcome;

namespace {

constexpr std::array kFabricRules{FabricRule::gpus_only, FabricRule::logical_clos,
                                  FabricRule::optical_circuits};

nlohmann::ordered_json schemes_json(std::span<const SchemeOutcome> outcomes) {
  auto schemes = nlohmann::ordered_json::array();
  for (const SchemeOutcome& outcome : outcomes) {
    auto sizes = nlohmann::ordered_json::array();
    for (const JobTimes& times : outcome.by_size) {
      sizes.push_back({{"gpus", times.hosts},
                       {"jobs", times.jobs},
                       {"mean_completion_seconds", times.completion},
                       {"mean_run_seconds", times.run},
                       {"mean_wait_seconds", times.wait},
                       {"mean_slowdown", times.slowdown}});
    }
    schemes.push_back({{"scheme", simulate::name_of(outcome.scheme)},
                       {"mean_completion_seconds", outcome.all.completion},
                       {"mean_run_seconds", outcome.all.run},
                       {"mean_wait_seconds", outcome.all.wait},
                       {"mean_slowdown", outcome.all.slowdown},
                       {"blocked_share", outcome.blocked_share},
                       {"isolated_jobs", outcome.isolated_jobs},
                       {"circuits_moved", outcome.circuits_moved},
                       {"windows", outcome.windows},
                       {"sizes", sizes}});
  }
  return schemes;
}

// A line per scheme over the sizes of jobs.
template <class Value>
std::string by_size_plot(std::span<const SchemeOutcome> outcomes, const std::string& title,
                         const std::string& label, Value value) {
  LinePlot plot{title, "GPUs of the job", label, {}, {}, {}, {}, 0, false, 2, true, 0};
  for (std::size_t s = 0; s < outcomes.size(); ++s) {
    PlotSeries series{std::string{simulate::name_of(outcomes[s].scheme)}, s, {}};
    for (const JobTimes& times : outcomes[s].by_size) {
      if (times.jobs == 0) continue;
      const double y = value(times);
      series.points.push_back({static_cast<double>(times.hosts), y, y, y});
    }
    plot.series.push_back(std::move(series));
  }
  return to_svg(plot);
}

std::string growth_plot(std::span<const FabricGrowth> fabrics) {
  LinePlot plot{"CPU time by fabric",
                "GPUs of the fabric",
                "CPU seconds",
                {},
                {},
                0.0,
                {},
                0,
                false,
                2,
                true,
                0};
  for (std::size_t s = 0; s < fabrics.front().outcomes.size(); ++s) {
    PlotSeries series{std::string{simulate::name_of(fabrics.front().outcomes[s].scheme)}, s, {}};
    for (const FabricGrowth& fabric : fabrics) {
      const double y = fabric.outcomes[s].cpu_seconds;
      series.points.push_back({static_cast<double>(fabric.gpus), y, y, y});
    }
    plot.series.push_back(std::move(series));
  }
  return to_svg(plot);
}

template <class Spread>
std::string over_loads_plot(std::span<const double> loads, const std::string& title,
                            const std::string& label, Spread spread) {
  LinePlot plot{title, "load", label, {}, {}, 0.0, {}, 0, false, 3, false, 0};
  for (std::size_t r = 0; r < kFabricRules.size(); ++r) {
    PlotSeries series{std::string{simulate::name_of(kFabricRules[r])}, r, {}};
    for (const double load : loads) {
      const auto figure = spread(kFabricRules[r], load);
      series.points.push_back({load, figure.mean, figure.least, figure.most});
    }
    plot.series.push_back(std::move(series));
  }
  return to_svg(plot);
}

}  // namespace

Table fragmentation_table(const std::vector<FragmentationResult>& results,
                          std::span<const double> loads) {
  Table table{"Waiting for a partition, first in, first out",
              {{"load"},
               {"the fabric gives", Align::left},
               {"mean wait"},
               {"least"},
               {"most"},
               {"blocked %"},
               {"least"},
               {"most"}},
              {}};
  for (const double load : loads) {
    for (const FabricRule rule :
         {FabricRule::gpus_only, FabricRule::logical_clos, FabricRule::optical_circuits}) {
      const auto wait = simulate::mean_wait(results, rule, load);
      const auto blocked = simulate::blocked_share(results, rule, load);
      table.rows.push_back(
          {fmt::format("{:.2f}", load), std::string{simulate::name_of(rule)},
           fmt::format("{:.3f}", wait.mean), fmt::format("{:.3f}", wait.least),
           fmt::format("{:.3f}", wait.most), fmt::format("{:.1f}", 100 * blocked.mean),
           fmt::format("{:.1f}", 100 * blocked.least), fmt::format("{:.1f}", 100 * blocked.most)});
    }
  }
  return table;
}

Result<std::string> fragmentation_json(const std::vector<FragmentationResult>& results) {
  auto runs = nlohmann::ordered_json::array();
  for (const FragmentationResult& result : results) {
    runs.push_back({{"rule", simulate::name_of(result.rule)},
                    {"load", result.load},
                    {"seed", result.seed},
                    {"mean_wait", result.mean_wait},
                    {"blocked_share", result.blocked_share},
                    {"circuits_moved_per_job", result.circuits_moved_per_job},
                    {"jobs_paused_per_job", result.jobs_paused_per_job}});
  }
  return formats::json_text({{"runs", runs}});
}

Table scheme_table(std::span<const SchemeOutcome> outcomes) {
  Table table{"How soon jobs are done, means in seconds",
              {{"scheme", Align::left},
               {"completion"},
               {"run"},
               {"wait"},
               {"slowdown"},
               {"blocked %"},
               {"isolated"},
               {"circuits moved"}},
              {}};
  for (const SchemeOutcome& outcome : outcomes) {
    table.rows.push_back(
        {std::string{simulate::name_of(outcome.scheme)},
         fmt::format("{:.0f}", outcome.all.completion), fmt::format("{:.0f}", outcome.all.run),
         fmt::format("{:.0f}", outcome.all.wait), fmt::format("{:.3f}", outcome.all.slowdown),
         fmt::format("{:.1f}", 100 * outcome.blocked_share), std::to_string(outcome.isolated_jobs),
         std::to_string(outcome.circuits_moved)});
  }
  return table;
}

Table size_table(std::span<const SchemeOutcome> outcomes) {
  Table table{"Mean completion time and slowdown by size, seconds", {{"GPUs"}, {"jobs"}}, {}};
  if (outcomes.empty()) return table;
  for (const SchemeOutcome& outcome : outcomes) {
    table.columns.push_back({std::string{simulate::name_of(outcome.scheme)}});
    table.columns.push_back({"x"});
  }
  for (std::size_t size = 0; size < outcomes.front().by_size.size(); ++size) {
    const JobTimes& first = outcomes.front().by_size[size];
    std::vector<std::string> row{std::to_string(first.hosts), std::to_string(first.jobs)};
    for (const SchemeOutcome& outcome : outcomes) {
      row.push_back(fmt::format("{:.0f}", outcome.by_size[size].completion));
      row.push_back(fmt::format("{:.2f}", outcome.by_size[size].slowdown));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<std::string> job_mix_json(std::span<const SchemeOutcome> outcomes, double load) {
  return formats::json_text({{"schemes", schemes_json(outcomes)}, {"load", load}});
}

Table growth_table(std::span<const FabricGrowth> fabrics) {
  Table table{"CPU seconds to play, by fabric", {{"GPUs"}, {"load"}}, {}};
  if (fabrics.empty()) return table;
  for (const SchemeOutcome& outcome : fabrics.front().outcomes)
    table.columns.push_back({std::string{simulate::name_of(outcome.scheme)}});
  for (const FabricGrowth& fabric : fabrics) {
    std::vector<std::string> row{std::to_string(fabric.gpus), fmt::format("{:.2f}", fabric.load)};
    for (const SchemeOutcome& outcome : fabric.outcomes)
      row.push_back(fmt::format("{:.2f}", outcome.cpu_seconds));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Result<std::string> growth_json(std::span<const FabricGrowth> fabrics) {
  auto all = nlohmann::ordered_json::array();
  for (const FabricGrowth& fabric : fabrics) {
    nlohmann::ordered_json seconds;
    for (const SchemeOutcome& outcome : fabric.outcomes)
      seconds[std::string{simulate::name_of(outcome.scheme)}] = outcome.cpu_seconds;
    all.push_back({{"gpus", fabric.gpus},
                   {"load", fabric.load},
                   {"cpu_seconds", seconds},
                   {"schemes", schemes_json(fabric.outcomes)}});
  }
  return formats::json_text({{"fabrics", all}});
}

std::string fragmentation_page(const ReportHeader& header,
                               const std::vector<FragmentationResult>& results,
                               std::span<const double> loads) {
  const Table table = fragmentation_table(results, loads);
  const auto wait = [&](FabricRule rule, double load) {
    return simulate::mean_wait(results, rule, load);
  };
  const auto blocked = [&](FabricRule rule, double load) {
    auto share = simulate::blocked_share(results, rule, load);
    share.mean *= 100;
    share.least *= 100;
    share.most *= 100;
    return share;
  };
  std::string content = figure(
      "Waiting", "Mean wait in mean run times; the band is from the least to the most of one seed.",
      over_loads_plot(loads, "Mean wait by load", "mean run times", wait), table);
  content +=
      figure("Blocked",
             "Part of the time in which the first of the queue waits though enough GPUs are free.",
             over_loads_plot(loads, "Blocked by load", "% of the time", blocked), table);
  return page(header, "What do contention-free partitions cost in waiting?", "", content,
              "Jobs first in, first out, exponential run times.",
              report_data(fragmentation_json(results), header));
}

std::string job_mix_page(const ReportHeader& header, std::span<const FabricGrowth> fabrics) {
  const FabricGrowth& last = fabrics.back();
  const Table sizes = size_table(last.outcomes);
  std::string content = "<h2>Schemes</h2>\n" + to_html(scheme_table(last.outcomes));
  content += figure("Completion time by size", "Waiting and running, mean of the jobs of a size.",
                    by_size_plot(last.outcomes, "Mean completion time by size", "seconds",
                                 [](const JobTimes& times) { return times.completion; }),
                    sizes);
  content += figure("Slowdown by size", "Run time over that without contention.",
                    by_size_plot(last.outcomes, "Mean slowdown by size", "times",
                                 [](const JobTimes& times) { return times.slowdown; }),
                    sizes);
  if (fabrics.size() > 1) {
    content += figure("What playing costs",
                      "CPU time of the study by the size of the fabric, at the same load.",
                      growth_plot(fabrics), growth_table(fabrics));
  }
  return page(header, "How soon are jobs done, by how they share the network?", "", content,
              "Jobs first in, first out; docs/models/network.md has the model and its limits.",
              report_data(job_mix_json(last.outcomes, last.load), header));
}

}  // namespace weir::report
