// SPDX-License-Identifier: Apache-2.0
#include "report/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg_axes.h"

namespace weir::report {
namespace {

std::string value_text(double value, double low, double high, int decimals) {
  if (low == high) return fmt::format("{:.{}f}", value, decimals);
  return fmt::format("{:.{}f} ({:.{}f} to {:.{}f})", value, decimals, low, decimals, high,
                     decimals);
}

bool is_multiple(double value, double step) {
  return step <= 0 || std::abs(value / step - std::round(value / step)) < 1e-9;
}

std::string draw_series(const PlotSeries& series, const Axis& x, const Axis& y,
                        const LinePlot& plot) {
  if (series.points.empty()) return "";
  std::string line;
  std::string upper;
  std::string lower;
  std::string marks;
  const std::size_t stride =
      plot.marks == 0 ? 1 : std::max<std::size_t>(1, series.points.size() / plot.marks);
  std::size_t number = 0;
  for (const PlotPoint& point : series.points) {
    const double px = x.at(point.x);
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", px, y.at(point.y));
    upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", px, y.at(point.high));
    lower = fmt::format("L{:.1f} {:.1f}", px, y.at(point.low)) + lower;
    if (!is_multiple(point.x, plot.hover_step) || ++number % stride != 0) continue;
    marks += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\"><title>{}, {} {}: {}</title></circle>\n", px,
        y.at(point.y), escape_markup(series.name), escape_markup(plot.x_label),
        axis_number(point.x), value_text(point.y, point.low, point.high, plot.decimals));
  }
  const bool has_band = std::any_of(series.points.begin(), series.points.end(),
                                    [](const PlotPoint& p) { return p.low < p.high; });
  std::string svg = fmt::format("<g class=\"series s{}\">\n", series.style % kSeriesStyles);
  if (has_band) svg += fmt::format("<path class=\"band\" d=\"{}{}Z\"/>\n", upper, lower);
  return svg + fmt::format("<path class=\"line\" d=\"{}\"/>\n{}</g>\n", line, marks);
}

// The same plot without the points before x_from.
LinePlot visible_part(LinePlot plot) {
  for (PlotSeries& series : plot.series) {
    std::erase_if(series.points,
                  [&](const PlotPoint& p) { return plot.x_from && p.x < *plot.x_from; });
  }
  return plot;
}

struct Bounds {
  double x_least = 0, x_most = 1, y_least = 0, y_most = 1;
};

Bounds bounds_of(const LinePlot& plot) {
  Bounds bounds;
  bool is_first = true;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& p : series.points) {
      if (is_first) bounds = {p.x, p.x, p.low, p.high};
      is_first = false;
      bounds.x_least = std::min(bounds.x_least, p.x);
      bounds.x_most = std::max(bounds.x_most, p.x);
      bounds.y_least = std::min(bounds.y_least, p.low);
      bounds.y_most = std::max(bounds.y_most, p.high);
    }
  }
  bounds.y_least = plot.y_least.value_or(bounds.y_least);
  bounds.y_most = plot.y_most.value_or(bounds.y_most);
  return bounds;
}

// Highest line first, as the eye meets them at the right end of the plot.
std::vector<LegendEntry> legend_of(const LinePlot& plot) {
  std::vector<const PlotSeries*> order;
  for (const PlotSeries& series : plot.series) {
    if (!series.points.empty()) order.push_back(&series);
  }
  std::stable_sort(order.begin(), order.end(), [](const PlotSeries* a, const PlotSeries* b) {
    return a->points.back().y > b->points.back().y;
  });
  std::vector<LegendEntry> entries;
  for (const PlotSeries* series : order) entries.push_back({series->name, series->style, false});
  return entries;
}

std::string diagonal(const Axis& x, const Axis& y) {
  const double least = std::max(x.least, y.least);
  const double most = std::min(x.most, y.most);
  if (least >= most) return "";
  return fmt::format(
      "<path class=\"reference\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"><title>nothing "
      "stranded</title></path>\n",
      x.at(least), y.at(least), x.at(most), y.at(most));
}

}  // namespace

std::string to_svg(const LinePlot& whole) {
  const LinePlot plot = visible_part(whole);
  const Bounds bounds = bounds_of(plot);
  const auto x_ticks = plot.x_is_log ? log_ticks(std::max(bounds.x_least, 1e-3), bounds.x_most)
                                     : round_ticks(bounds.x_least, bounds.x_most, 14);
  const auto y_ticks = round_ticks(bounds.y_least, bounds.y_most, 7);
  const double right = kPlotFrame.x_end();
  Axis x = axis_over(x_ticks, kPlotFrame.left, right);
  x.is_log = plot.x_is_log;
  const Axis y = axis_over(y_ticks, kPlotFrame.y_end(), kPlotFrame.top);
  std::string svg = begin_svg(kPlotFrame, plot.title);
  svg += y_axis(kPlotFrame, y, y_ticks, plot.y_label);
  svg += x_axis(kPlotFrame, x, number_ticks(x_ticks), plot.x_label);
  if (plot.diagonal) svg += diagonal(x, y);
  for (const PlotSeries& series : plot.series) svg += draw_series(series, x, y, plot);
  return svg + legend(kPlotFrame, legend_of(plot)) + "</svg>\n";
}

std::string to_svg(const BarPlot& plot) {
  double most = 0;
  for (const BarSeries& series : plot.series) {
    for (const auto& bar : series.bars) most = std::max(most, bar ? bar->high : 0);
  }
  const auto ticks = round_ticks(0, most, 7);
  const double right = kPlotFrame.x_end();
  const double bottom = kPlotFrame.y_end();
  const Axis y = axis_over(ticks, bottom, kPlotFrame.top);
  std::string svg = begin_svg(kPlotFrame, plot.title) + y_axis(kPlotFrame, y, ticks, plot.y_label);
  svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kPlotFrame.left,
                     bottom, right);

  const double group_width =
      (right - kPlotFrame.left) / static_cast<double>(std::max<std::size_t>(1, plot.groups.size()));
  constexpr double kWidestBar = 56;
  const double bar_width =
      std::min(kWidestBar, group_width * 0.86 /
                               static_cast<double>(std::max<std::size_t>(1, plot.series.size())));
  const double group_margin =
      (group_width - bar_width * static_cast<double>(plot.series.size())) / 2;
  const bool is_roomy = bar_width >= 36;  // wide enough for a number above each bar
  const bool slanted = plot.groups.size() > 8;
  for (std::size_t g = 0; g < plot.groups.size(); ++g) {
    const double group_left = kPlotFrame.left + group_width * static_cast<double>(g);
    const double middle = group_left + group_width / 2;
    svg += fmt::format("<text {} text-anchor=\"{}\">{}</text>\n",
                       slanted ? fmt::format("transform=\"translate({:.1f} {:.1f}) rotate(-30)\"",
                                             middle + 6, bottom + 14)
                               : fmt::format("x=\"{:.1f}\" y=\"{:.1f}\"", middle, bottom + 19),
                       slanted ? "end" : "middle", escape_markup(plot.groups[g]));
    for (std::size_t s = 0; s < plot.series.size(); ++s) {
      const BarSeries& series = plot.series[s];
      if (g >= series.bars.size() || !series.bars[g]) continue;
      const Bar& bar = *series.bars[g];
      const double left = group_left + group_margin + bar_width * static_cast<double>(s);
      svg += fmt::format(
          "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
          "<title>{}, {}: {}</title></rect>\n",
          series.style % kSeriesStyles, left + 0.5, y.at(bar.value), std::max(bar_width - 1, 0.5),
          bottom - y.at(bar.value), escape_markup(series.name), escape_markup(plot.groups[g]),
          value_text(bar.value, bar.low, bar.high, plot.decimals));
      if (is_roomy) {
        svg +=
            fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>\n",
                        left + bar_width / 2, y.at(std::max(bar.value, bar.high)) - 5, bar.value);
      }
      if (bar.low < bar.high) {
        svg += fmt::format("<path class=\"whisker\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n",
                           left + bar_width / 2, y.at(bar.low), y.at(bar.high));
      }
    }
  }
  std::vector<LegendEntry> entries;
  for (const BarSeries& series : plot.series) entries.push_back({series.name, series.style, true});
  return svg + legend(kPlotFrame, entries) + "</svg>\n";
}

// The first eight hues are those of Okabe and Ito; all are made darker on white and lighter on black until each stands
// out from its background at least 3 to 1.
std::string_view plot_style() {
  return R"css(
.plot { width: 100%; height: auto; font: 13px system-ui, sans-serif; }
.plot text { fill: var(--quiet); }
.plot .label { fill: var(--ink); }
.plot .grid { stroke: var(--grid); fill: none; }
.plot .axis { stroke: var(--quiet); fill: none; }
.plot .reference { stroke: var(--quiet); stroke-dasharray: 1 4; fill: none; }
.plot .line { stroke: var(--colour); stroke-width: 2; fill: none; stroke-linejoin: round; }
.plot .band { fill: var(--colour); opacity: 0.16; }
.plot .bar { fill: var(--colour); }
.plot .whisker { stroke: var(--ink); opacity: 0.55; fill: none; }
.plot circle { fill: var(--colour); opacity: 0; }
.plot circle:hover { opacity: 1; }
.plot .series:hover .line { stroke-width: 4; }
.s0 { --colour: #0072b2; }
.s1 { --colour: #d55e00; }
.s2 { --colour: #00825f; }
.s3 { --colour: #b2508b; }
.s4 { --colour: #b87800; }
.s5 { --colour: #2f8fc4; }
.s6 { --colour: #857a00; }
.s7 { --colour: #6e6e6e; }
.s8 { --colour: #a0522d; }
.s9 { --colour: #5a4fcf; }
.s10 { --colour: #c2185b; }
.s11 { --colour: #00707a; }
.s3.line, .s3 .line { stroke-dasharray: 10 3; }
.s4.line, .s4 .line { stroke-dasharray: 6 3; }
.s5.line, .s5 .line { stroke-dasharray: 8 3 2 3; }
.s6.line, .s6 .line { stroke-dasharray: 4 4; }
.s7.line, .s7 .line { stroke-dasharray: 2 3; }
.s8.line, .s8 .line { stroke-dasharray: 12 3 3 3; }
.s9.line, .s9 .line { stroke-dasharray: 1 3; }
.s10.line, .s10 .line { stroke-dasharray: 14 4; }
.s11.line, .s11 .line { stroke-dasharray: 5 2 1 2; }
@media (prefers-color-scheme: dark) {
  .s0 { --colour: #4aa8e8; }
  .s1 { --colour: #ff8242; }
  .s2 { --colour: #1fc796; }
  .s3 { --colour: #e08fc0; }
  .s4 { --colour: #e69f00; }
  .s5 { --colour: #8fd0f5; }
  .s6 { --colour: #e6da3c; }
  .s7 { --colour: #adadad; }
  .s8 { --colour: #d39a72; }
  .s9 { --colour: #a79cf5; }
  .s10 { --colour: #ff80ab; }
  .s11 { --colour: #5ec8d0; }
}
)css";
}

}  // namespace weir::report
