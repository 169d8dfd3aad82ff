// SPDX-License-Identifier: Apache-2.0
#include "report/usage_plot.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/clock_text.h"
#include "report/svg_axes.h"

namespace weir::report {
namespace {

struct Stretches {
  Time begin;
  double length = 1;  // seconds of one stretch

  // Adds `gpus` from `from` to `to`, as a share of each stretch it touches.
  void add(std::vector<double>& sums, Time from, Time to, double gpus) const {
    const double first = to_seconds(from - begin) / length;
    const double last = to_seconds(to - begin) / length;
    const auto count = static_cast<double>(sums.size());
    for (double at = first; at < std::min(last, count);) {
      const auto index = static_cast<std::size_t>(at);
      const double next = std::min(last, static_cast<double>(index + 1));
      if (index >= sums.size()) return;
      sums[index] += gpus * (next - at);
      at = next;
    }
  }
};

// A step line over the stretches, from left to right or back.
std::string steps(const std::vector<double>& heights, const Axis& x, const Axis& y, bool back) {
  std::string path;
  for (std::size_t i = 0; i < heights.size(); ++i) {
    const std::size_t at = back ? heights.size() - 1 - i : i;
    const double left = x.at(static_cast<double>(at));
    const double right = x.at(static_cast<double>(at + 1));
    path += fmt::format("L{:.1f} {:.1f}L{:.1f} {:.1f}", back ? right : left, y.at(heights[at]),
                        back ? left : right, y.at(heights[at]));
  }
  return path;
}

std::string layer(const std::vector<double>& low, const std::vector<double>& high, const Axis& x,
                  const Axis& y, std::string_view style, std::string_view name) {
  std::string path = steps(high, x, y, false) + steps(low, x, y, true);
  path[0] = 'M';
  return fmt::format("<path class=\"area {}\" d=\"{}Z\"><title>{}</title></path>\n", style, path,
                     name);
}

}  // namespace

GpuUsage gpu_usage(const simulate::AllocationHistory& history, std::size_t stretches) {
  GpuUsage usage{history.begin, history.end, std::vector<double>(stretches, 0.0),
                 std::vector<double>(stretches, 0.0)};
  const double length = to_seconds(history.end - history.begin);
  if (length <= 0) return usage;
  const Stretches grid{history.begin, length / static_cast<double>(stretches)};
  for (const simulate::AllocationSpan& span : history.spans) {
    grid.add(usage.left_over, span.from, span.to, span.block.size);
    for (const auto& part : span.promised) {
      grid.add(usage.promised, part.from, part.to, part.gpus);
      grid.add(usage.left_over, part.from, part.to, -static_cast<double>(part.gpus));
    }
  }
  return usage;
}

std::string usage_svg(const GpuUsage& usage, std::int64_t gpus, const std::string& title) {
  const auto y_ticks = round_ticks(0, static_cast<double>(gpus), 6);
  const Axis y = axis_over(y_ticks, kPlotFrame.y_end(), kPlotFrame.top);
  const Axis x{0, static_cast<double>(usage.promised.size()), kPlotFrame.left, kPlotFrame.x_end()};
  const Axis seconds{0, std::max(1e-9, to_seconds(usage.end - usage.begin)), kPlotFrame.left,
                     kPlotFrame.x_end()};
  const std::vector<double> floor(usage.promised.size(), 0.0);
  std::vector<double> top = usage.promised;
  for (std::size_t i = 0; i < top.size(); ++i) top[i] += std::max(0.0, usage.left_over[i]);
  std::string svg = begin_svg(kPlotFrame, title) + y_axis(kPlotFrame, y, y_ticks, "GPUs in use");
  svg += layer(floor, usage.promised, x, y, "s0", "needed by promises");
  svg += layer(usage.promised, top, x, y, "s0 lent", "lent beyond promises");
  svg += fmt::format(
      "<path class=\"reference\" d=\"M{:.1f} {:.1f}H{:.1f}\"><title>all {} GPUs</title></path>\n",
      kPlotFrame.left, y.at(static_cast<double>(gpus)), kPlotFrame.x_end(), gpus);
  svg += x_axis(kPlotFrame, seconds, time_ticks(usage.begin, usage.end, 10), "time");
  const double left = kPlotFrame.x_end() + 16;
  svg += fmt::format(
      "<rect class=\"area s0\" x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"14\" height=\"14\"/>"
      "<text x=\"{2:.1f}\" y=\"{3:.1f}\">promised</text>\n"
      "<rect class=\"area s0 lent\" x=\"{0:.1f}\" y=\"{4:.1f}\" width=\"14\" height=\"14\"/>"
      "<text x=\"{2:.1f}\" y=\"{5:.1f}\">left over</text>\n",
      left + 7, kPlotFrame.top + 23, left + 34, kPlotFrame.top + 35, kPlotFrame.top + 1,
      kPlotFrame.top + 13);
  return svg + "</svg>\n";
}

Table usage_table(const GpuUsage& usage) {
  Table table{"Mean GPUs in use", {{"from", Align::left}, {"promised"}, {"left over"}}, {}};
  const std::size_t rows = std::min<std::size_t>(20, usage.promised.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t from = row * usage.promised.size() / rows;
    const std::size_t to = (row + 1) * usage.promised.size() / rows;
    double promised = 0;
    double left_over = 0;
    for (std::size_t i = from; i < to; ++i) {
      promised += usage.promised[i];
      left_over += usage.left_over[i];
    }
    const auto count = static_cast<double>(to - from);
    const Time begin = usage.begin + (usage.end - usage.begin) / static_cast<std::int64_t>(rows) *
                                         static_cast<std::int64_t>(row);
    table.rows.push_back({clock_text(begin), fmt::format("{:.1f}", promised / count),
                          fmt::format("{:.1f}", std::max(0.0, left_over / count))});
  }
  return table;
}

}  // namespace weir::report
