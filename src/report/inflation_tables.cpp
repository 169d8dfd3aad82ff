// SPDX-License-Identifier: Apache-2.0
#include "report/inflation_tables.h"

#include <fmt/format.h>

#include <functional>
#include <string>

namespace weir::report {
namespace {

using InflationFigure = std::function<std::string(const InflationSummary&)>;

struct FigureColumn {
  std::string heading;
  InflationFigure figure;
  bool is_bounded = false;  // the relaxation bound limits this figure
};

std::vector<FigureColumn> figures_of(const InflationSummary& summary) {
  std::vector<FigureColumn> columns = {
      {"alloc. at 100 %", [](const auto& s) { return to_string(s.allocated[100], 2); }, true},
      {"alloc. at 130 %", [](const auto& s) { return to_string(s.allocated[130], 2); }},
      {"frag. at 100 %", [](const auto& s) { return to_string(s.fragmented[100], 2); }},
      {"stranded", [](const auto& s) { return to_string(s.stranded_gpus, 1); }},
      {"failed", [](const auto& s) { return to_string(s.failed, 0); }},
      {"CPU failed", [](const auto& s) { return to_string(s.failed_cpu_only, 0); }},
  };
  if (summary.decision_us) {
    columns.push_back({"µs per task", [](const auto& s) { return to_string(s.decision_us, 2); }});
  }
  return columns;
}

std::string seeds_text(std::size_t seeds) {
  return seeds == 1 ? "1 seed" : fmt::format("{} seeds, mean ± standard deviation", seeds);
}

std::string gpus_of_list(const ListSummary& list) {
  return fmt::format("{} GPUs", list.policies.front().capacity.value / kWholeGpu.value);
}

Table policy_table(const ListSummary& list) {
  Table table{fmt::format("{}: {}, {}", list.workload, gpus_of_list(list),
                          seeds_text(list.policies.front().seeds)),
              {{"policy", Align::left}},
              {}};
  const std::vector<FigureColumn> figures = figures_of(list.policies.front());
  for (const FigureColumn& column : figures) {
    table.columns.push_back({column.heading, Align::right});
  }
  for (const InflationSummary& summary : list.policies) {
    std::vector<std::string> row = {summary.policy};
    for (const FigureColumn& column : figures) row.push_back(column.figure(summary));
    table.rows.push_back(std::move(row));
  }
  if (const auto& bound = list.policies.front().bound_percent) {
    std::vector<std::string> row(table.columns.size(), "-");
    row[0] = "bound";
    row[1] = fmt::format("{:.2f}", *bound);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table list_table(std::span<const ListSummary> lists, const FigureColumn& column) {
  Table table{fmt::format("{} ({}, {})", column.heading, gpus_of_list(lists.front()),
                          seeds_text(lists.front().policies.front().seeds)),
              {{"list", Align::left}},
              {}};
  for (const InflationSummary& summary : lists.front().policies) {
    table.columns.push_back({summary.policy, Align::right});
  }
  const bool has_bound = column.is_bounded && lists.front().policies.front().bound_percent;
  if (has_bound) table.columns.push_back({"bound", Align::right});
  for (const ListSummary& list : lists) {
    std::vector<std::string> row = {list.workload};
    for (const InflationSummary& summary : list.policies) row.push_back(column.figure(summary));
    row.resize(table.columns.size(), "-");
    if (has_bound)
      row.back() = fmt::format("{:.2f}", list.policies.front().bound_percent.value_or(100));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table curve_table(const ListSummary& list, InflationSummary::Curve InflationSummary::*curve,
                  std::string_view what) {
  constexpr std::size_t kStep = 10;
  Table table{
      fmt::format("{}: {} in % of GPU capacity, by % of GPU demand arrived", list.workload, what),
      {{"policy", Align::left}},
      {}};
  for (std::size_t p = 0; p <= InflationSummary::kLastPercent; p += kStep) {
    table.columns.push_back({fmt::format("{} %", p), Align::right});
  }
  for (const InflationSummary& summary : list.policies) {
    std::vector<std::string> row = {summary.policy};
    for (std::size_t p = 0; p <= InflationSummary::kLastPercent; p += kStep) {
      const auto& point = (summary.*curve)[p];
      row.push_back(point ? fmt::format("{:.2f}", point->mean) : "-");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<Table> inflation_tables(std::span<const ListSummary> lists) {
  std::vector<Table> tables;
  if (lists.size() == 1) {
    tables.push_back(policy_table(lists.front()));
  } else if (!lists.empty()) {
    const std::vector<FigureColumn> figures = figures_of(lists.front().policies.front());
    for (const FigureColumn& column : figures) tables.push_back(list_table(lists, column));
  }
  return tables;
}

std::string_view inflation_legend() {
  return "alloc., frag.: GPU allocated and fragmented, in % of capacity, when that much demand had "
         "arrived.\n"
         "stranded: GPUs not allocated at 100 %. CPU failed: the CPU-only tasks among the "
         "failed.\n";
}

Table allocation_curve_table(const ListSummary& list) {
  return curve_table(list, &InflationSummary::allocated, "allocated");
}

Table fragmentation_curve_table(const ListSummary& list) {
  return curve_table(list, &InflationSummary::fragmented, "fragmented");
}

Table stranded_table(std::span<const ListSummary> lists) {
  return list_table(lists, {"GPUs stranded when demand equals capacity",
                            [](const auto& s) { return to_string(s.stranded_gpus, 1); }});
}

}  // namespace weir::report
