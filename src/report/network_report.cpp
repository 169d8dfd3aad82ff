// SPDX-License-Identifier: Apache-2.0
#include "report/network_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "formats/json_text.h"
#include "report/report_data.h"
#include "report/svg_axes.h"
#include "report/svg_plot.h"

namespace weir::report {
namespace {

using NetworkJson = nlohmann::ordered_json;
using network::LinkIndex;
using network::VertexIndex;
using network::VertexKind;

constexpr std::size_t kLinksInJson = 50;
constexpr std::size_t kLinksOnPage = 30;
constexpr std::size_t kJobsInPlot = 8;
constexpr std::size_t kLargestMap = 160;  // rows or columns
constexpr double kIdleOpacity = 0.07;     // a link that nothing crosses is still there

std::string milliseconds_text(double seconds) {
  return fmt::format("{:.3f}", seconds * 1e3);
}

// Of what the link could have carried until the last job ended.
double use_of(const NetworkResult& result, LinkIndex link) {
  const double possible = result.fabric->links[link].capacity * result.outcome.end;
  return possible > 0 ? result.outcome.link_bytes[link] / possible : 0;
}

std::vector<LinkIndex> busiest_links(const NetworkResult& result, std::size_t most) {
  std::vector<LinkIndex> links;
  for (LinkIndex link = 0; link < result.fabric->links.size(); ++link) {
    if (result.outcome.link_bytes[link] > 0) links.push_back(link);
  }
  std::stable_sort(links.begin(), links.end(),
                   [&](LinkIndex a, LinkIndex b) { return use_of(result, a) > use_of(result, b); });
  if (links.size() > most) links.resize(most);
  return links;
}

bool is_between_switches(const network::Fabric& fabric, LinkIndex link) {
  const auto forwards = [&](VertexIndex vertex) {
    const VertexKind kind = fabric.vertices[vertex].kind;
    return kind != VertexKind::gpu && kind != VertexKind::node_switch;
  };
  return forwards(fabric.links[link].from) && forwards(fabric.links[link].to);
}

// The switches that have links of the map, as rows (from) and columns (to); the use of parallel
// links is their mean.
struct LinkMap {
  std::vector<VertexIndex> rows;
  std::vector<VertexIndex> columns;
  std::map<std::pair<VertexIndex, VertexIndex>, std::pair<double, int>> use;
};

LinkMap link_map(const NetworkResult& result, bool is_up) {
  const network::Fabric& fabric = *result.fabric;
  LinkMap map;
  for (LinkIndex link = 0; link < fabric.links.size(); ++link) {
    const network::FabricLink& ends = fabric.links[link];
    if (!is_between_switches(fabric, link) || (ends.from < ends.to) != is_up) continue;
    auto& [sum, count] = map.use[{ends.from, ends.to}];
    sum += use_of(result, link);
    ++count;
    map.rows.push_back(ends.from);
    map.columns.push_back(ends.to);
  }
  for (auto* side : {&map.rows, &map.columns}) {
    std::sort(side->begin(), side->end());
    side->erase(std::unique(side->begin(), side->end()), side->end());
  }
  return map;
}

std::string heat_svg(const NetworkResult& result, const LinkMap& map, const std::string& title) {
  const std::size_t rows = std::min(map.rows.size(), kLargestMap);
  const std::size_t columns = std::min(map.columns.size(), kLargestMap);
  const double cell = std::clamp(720.0 / static_cast<double>(std::max(rows, columns)), 4.0, 22.0);
  PlotFrame frame;
  frame.left = 90;
  frame.top = 28;
  frame.width = std::max(frame.width, frame.left + cell * static_cast<double>(columns) + 20);
  frame.height = frame.top + cell * static_cast<double>(rows) + 16;
  std::string svg = begin_svg(frame, title);
  svg += fmt::format("<text x=\"{:.0f}\" y=\"18\">{} to {}</text>\n", frame.left,
                     escape_markup(result.fabric->vertex_name(map.columns.front())),
                     escape_markup(result.fabric->vertex_name(map.columns[columns - 1])));
  for (std::size_t row = 0; row < rows; ++row) {
    const double y = frame.top + cell * static_cast<double>(row);
    if (row == 0 || row + 1 == rows) {
      svg += fmt::format("<text x=\"4\" y=\"{:.1f}\">{}</text>\n", y + cell * 0.75,
                         escape_markup(result.fabric->vertex_name(map.rows[row])));
    }
    for (std::size_t column = 0; column < columns; ++column) {
      const auto found = map.use.find({map.rows[row], map.columns[column]});
      if (found == map.use.end()) continue;
      const double use = found->second.first / found->second.second;
      svg += fmt::format(
          "<rect class=\"bar s1\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "fill-opacity=\"{:.2f}\"><title>{} &gt; {}: {:.1f} %</title></rect>\n",
          frame.left + cell * static_cast<double>(column), y, cell - 0.5, cell - 0.5,
          kIdleOpacity + (1 - kIdleOpacity) * std::min(1.0, use),
          escape_markup(result.fabric->vertex_name(map.rows[row])),
          escape_markup(result.fabric->vertex_name(map.columns[column])), use * 100);
    }
  }
  return svg + "</svg>\n";
}

std::string heat_figures(const NetworkResult& result) {
  std::string content;
  for (const bool is_up : {true, false}) {
    const LinkMap map = link_map(result, is_up);
    if (map.use.empty()) continue;
    const std::string heading = is_up ? "Links upwards" : "Links downwards";
    Table table{"", {{"from", Align::left}, {"to", Align::left}, {"use %"}}, {}};
    for (const auto& [ends, use] : map.use) {
      if (table.rows.size() == kLinksOnPage * 10) break;
      table.rows.push_back({result.fabric->vertex_name(ends.first),
                            result.fabric->vertex_name(ends.second),
                            fmt::format("{:.1f}", use.first / use.second * 100)});
    }
    content += figure(heading,
                      fmt::format("How much of each link between switches was used until the last "
                                  "job ended: the fuller, the stronger its colour.{}",
                                  std::max(map.rows.size(), map.columns.size()) > kLargestMap
                                      ? fmt::format(" The first {} of each side.", kLargestMap)
                                      : ""),
                      heat_svg(result, map, heading), table);
  }
  return content;
}

std::string rates_figure(const NetworkResult& result) {
  if (result.outcome.samples.empty()) return "";
  LinePlot plot{"Rates over time", "milliseconds", "GB/s that a job's GPUs send", {}};
  plot.y_least = 0;
  plot.marks = 20;
  Table table{"", {{"ms"}}, {}};
  const std::size_t jobs = std::min(result.jobs.size(), kJobsInPlot);
  for (std::size_t job = 0; job < jobs; ++job) {
    PlotSeries series{result.jobs[job].name, job, {}};
    for (const auto& sample : result.outcome.samples) {
      const double rate = sample.rates[job] / 1e9;
      series.points.push_back({sample.at * 1e3, rate, rate, rate});
    }
    plot.series.push_back(std::move(series));
    table.columns.push_back({result.jobs[job].name});
  }
  for (const auto& sample : result.outcome.samples) {
    std::vector<std::string> row{milliseconds_text(sample.at)};
    for (std::size_t job = 0; job < jobs; ++job)
      row.push_back(fmt::format("{:.2f}", sample.rates[job] / 1e9));
    table.rows.push_back(std::move(row));
  }
  return figure(
      "Rates over time",
      fmt::format("What the GPUs of a job send together, at instants at which flows ended.{}",
                  result.jobs.size() > jobs ? fmt::format(" The first {} jobs.", jobs) : ""),
      to_svg(plot), table);
}

NetworkJson job_json(const NetworkJobResult& job) {
  return {{"name", job.name},
          {"gpus", job.gpus},
          {"collective", job.collective},
          {"mode", job.mode},
          {"bytes", job.bytes},
          {"start_seconds", job.start_seconds},
          {"end_seconds", job.end_seconds},
          {"iterations", job.iterations},
          {"iteration_seconds", job.iteration_seconds},
          {"ideal_iteration_seconds", job.ideal_seconds},
          {"slowdown", job.slowdown()},
          {"communication_seconds", job.communication_seconds},
          {"bus_bytes_per_second", job.bus_bytes_per_second}};
}

}  // namespace

Table network_jobs_table(const NetworkResult& result) {
  Table table{fmt::format("On {}, {} GPUs, routing {}", result.fabric->name, result.fabric->gpus(),
                          result.routing),
              {{"job", Align::left},
               {"gpus"},
               {"collective", Align::left},
               {"mode", Align::left},
               {"MB"},
               {"iterations"},
               {"ms each"},
               {"ideal ms"},
               {"slowdown"},
               {"busbw GB/s"}},
              {}};
  for (const NetworkJobResult& job : result.jobs) {
    table.rows.push_back({job.name, fmt::format("{}", job.gpus), job.collective, job.mode,
                          fmt::format("{:.2f}", job.bytes / 1e6), fmt::format("{}", job.iterations),
                          milliseconds_text(job.iteration_seconds),
                          milliseconds_text(job.ideal_seconds),
                          fmt::format("{:.2f}", job.slowdown()),
                          fmt::format("{:.2f}", job.bus_bytes_per_second / 1e9)});
  }
  return table;
}

Table busiest_links_table(const NetworkResult& result, std::size_t most) {
  Table table{"Fullest links", {{"link", Align::left}, {"Gb/s"}, {"GB"}, {"use %"}}, {}};
  for (const LinkIndex link : busiest_links(result, most)) {
    table.rows.push_back({result.fabric->link_name(link),
                          fmt::format("{:g}", result.fabric->links[link].capacity * 8 / 1e9),
                          fmt::format("{:.3f}", result.outcome.link_bytes[link] / 1e9),
                          fmt::format("{:.1f}", use_of(result, link) * 100)});
  }
  return table;
}

Result<std::string> network_json(const NetworkResult& result) {
  NetworkJson jobs = NetworkJson::array();
  for (const NetworkJobResult& job : result.jobs) jobs.push_back(job_json(job));
  NetworkJson links = NetworkJson::array();
  for (const LinkIndex link : busiest_links(result, kLinksInJson)) {
    links.push_back({{"link", result.fabric->link_name(link)},
                     {"bytes_per_second", result.fabric->links[link].capacity},
                     {"bytes", result.outcome.link_bytes[link]},
                     {"use", use_of(result, link)}});
  }
  return formats::json_text({{"fabric", result.fabric->name},
                             {"gpus", result.fabric->gpus()},
                             {"links", result.fabric->links.size()},
                             {"routing", result.routing},
                             {"seconds", result.outcome.end},
                             {"flow_events", result.outcome.flow_events},
                             {"jobs", jobs},
                             {"fullest_links", links}});
}

std::string network_page(const ReportHeader& header, const NetworkResult& result) {
  const std::string content = "<h2>Jobs</h2>\n" + to_html(network_jobs_table(result)) +
                              heat_figures(result) + rates_figure(result) + "<h2>Links</h2>\n" +
                              to_html(busiest_links_table(result, kLinksOnPage));
  return page(
      header, "What does sharing the fabric cost?", "", content,
      "Fluid flows with max-min fair rates: no packets, queues or losses. ideal: only the "
      "GPUs' own ports count. busbw: bus bandwidth as NCCL's tests report it, while the job "
      "communicates.",
      report_data(network_json(result), header));
}

}  // namespace weir::report
