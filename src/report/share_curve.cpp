// SPDX-License-Identifier: Apache-2.0
#include "report/share_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace weir::report {

PlotSeries share_curve(std::string name, std::size_t style, std::span<const double> sorted,
                       std::size_t whole, std::size_t most_points) {
  PlotSeries series{std::move(name), style, {}};
  if (sorted.empty() || whole == 0) return series;
  const std::size_t points = std::min(most_points, sorted.size());
  for (std::size_t i = 1; i <= points; ++i) {
    const std::size_t rank = i * sorted.size() / points;  // 1 .. size
    const double share = static_cast<double>(rank) / static_cast<double>(whole) * 100;
    series.points.push_back({sorted[rank - 1], share, share, share});
  }
  return series;
}

Table quantile_table(const LinePlot& plot, const std::string& title) {
  constexpr double kShares[] = {10, 25, 50, 75, 90};
  Table table{title, {{"policy", Align::left}}, {}};
  for (const double share : kShares) table.columns.push_back({fmt::format("{:.0f} %", share)});
  for (const PlotSeries& series : plot.series) {
    std::vector<std::string> row = {series.name};
    for (const double share : kShares) {
      const auto point =
          std::find_if(series.points.begin(), series.points.end(),
                       [&](const PlotPoint& candidate) { return candidate.y >= share; });
      row.push_back(point == series.points.end() ? "-" : fmt::format("{:.2f}", point->x));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace weir::report
