// SPDX-License-Identifier: Apache-2.0
#include "report/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::report {
namespace {

// Drawing area, in SVG units. The legend stands to the right of the axes.
constexpr double kWidth = 900;
constexpr double kHeight = 380;
constexpr double kLeft = 76;
constexpr double kRight = 150;
constexpr double kTop = 16;
constexpr double kBottom = 48;
constexpr double kLegendLine = 22;
constexpr double kTickLength = 5;

struct Axis {
  double least = 0;
  double most = 1;
  double from = 0;  // where `least` is drawn
  double to = 1;

  double at(double value) const { return from + (value - least) / (most - least) * (to - from); }
};

std::string number(double value) {
  // Ticks are sums of round steps: a rounding error must not show as 0.30000000000000004.
  const double rounded = std::round(value * 1e6) / 1e6;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

Axis axis_over(const std::vector<double>& ticks, double from, double to) {
  return {ticks.front(), ticks.back(), from, to};
}

std::string begin_svg(const std::string& title) {
  return fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "xmlns=\"http://www.w3.org/2000/svg\">\n",
      kWidth, kHeight, escape_markup(title));
}

std::string y_axis(const Axis& axis, const std::vector<double>& ticks, const std::string& label,
                   double right) {
  std::string svg;
  for (const double tick : ticks) {
    const double y = axis.at(tick);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, y, right);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                       y + 4, number(tick));
  }
  const double middle = (axis.from + axis.to) / 2;
  return svg + fmt::format(
                   "<text class=\"label\" transform=\"translate(16 {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   middle, escape_markup(label));
}

std::string x_axis(const Axis& axis, const std::vector<double>& ticks, const std::string& label) {
  const double bottom = kHeight - kBottom;
  std::string svg = fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", axis.from,
                                bottom, axis.to);
  for (const double tick : ticks) {
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", axis.at(tick), bottom,
                       kTickLength);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       axis.at(tick), bottom + 19, number(tick));
  }
  return svg + fmt::format(
                   "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   (axis.from + axis.to) / 2, kHeight - 8, escape_markup(label));
}

struct LegendEntry {
  std::string name;
  std::size_t style;
  bool is_bar;
};

std::string legend(const std::vector<LegendEntry>& entries) {
  std::string svg;
  const double x = kWidth - kRight + 16;
  double y = kTop + 8;
  for (const LegendEntry& entry : entries) {
    const std::size_t style = entry.style % kSeriesStyles;
    svg += entry.is_bar
               ? fmt::format(
                     "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"14\" "
                     "height=\"14\"/>",
                     style, x + 7, y - 7)
               : fmt::format("<path class=\"line s{}\" d=\"M{:.1f} {:.1f}h28\"/>", style, x, y);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 34, y + 4,
                       escape_markup(entry.name));
    y += kLegendLine;
  }
  return svg;
}

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
  for (const PlotPoint& point : series.points) {
    const double px = x.at(point.x);
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", px, y.at(point.y));
    upper += fmt::format("{}{:.1f} {:.1f}", upper.empty() ? "M" : "L", px, y.at(point.high));
    lower = fmt::format("L{:.1f} {:.1f}", px, y.at(point.low)) + lower;
    if (!is_multiple(point.x, plot.hover_step)) continue;
    marks += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"7\"><title>{}, {} {}: {}</title></circle>\n", px,
        y.at(point.y), escape_markup(series.name), escape_markup(plot.x_label), number(point.x),
        value_text(point.y, point.low, point.high, plot.decimals));
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

std::vector<double> round_ticks(double least, double most, int wanted) {
  if (!(most > least)) most = least + 1;
  const double rough = (most - least) / wanted * (1 - 1e-9);  // 1.1 - 0.9 is a little over 0.2
  double step = 1;
  while (step > rough) step /= 10;
  while (step * 10 <= rough) step *= 10;
  for (const double factor : {2.0, 2.5, 2.0}) {  // 1, 2, 5, 10 times the power of ten
    if (step < rough) step *= factor;
  }
  std::vector<double> ticks;
  const double first = std::floor(least / step + 1e-9);
  const double last = std::ceil(most / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string escape_markup(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        // Control characters are not allowed in XML at all.
        safe += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return safe;
}

std::string to_svg(const LinePlot& whole) {
  const LinePlot plot = visible_part(whole);
  const Bounds bounds = bounds_of(plot);
  const auto x_ticks = round_ticks(bounds.x_least, bounds.x_most, 14);
  const auto y_ticks = round_ticks(bounds.y_least, bounds.y_most, 7);
  const double right = kWidth - kRight;
  const Axis x = axis_over(x_ticks, kLeft, right);
  const Axis y = axis_over(y_ticks, kHeight - kBottom, kTop);
  std::string svg = begin_svg(plot.title);
  svg += y_axis(y, y_ticks, plot.y_label, right);
  svg += x_axis(x, x_ticks, plot.x_label);
  if (plot.diagonal) svg += diagonal(x, y);
  for (const PlotSeries& series : plot.series) svg += draw_series(series, x, y, plot);
  return svg + legend(legend_of(plot)) + "</svg>\n";
}

std::string to_svg(const BarPlot& plot) {
  double most = 0;
  for (const BarSeries& series : plot.series) {
    for (const auto& bar : series.bars) most = std::max(most, bar ? bar->high : 0);
  }
  const auto ticks = round_ticks(0, most, 7);
  const double right = kWidth - kRight;
  const double bottom = kHeight - kBottom;
  const Axis y = axis_over(ticks, bottom, kTop);
  std::string svg = begin_svg(plot.title) + y_axis(y, ticks, plot.y_label, right);
  svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", kLeft, bottom, right);

  const double group_width =
      (right - kLeft) / static_cast<double>(std::max<std::size_t>(1, plot.groups.size()));
  constexpr double kWidestBar = 56;
  const double bar_width =
      std::min(kWidestBar, group_width * 0.86 /
                               static_cast<double>(std::max<std::size_t>(1, plot.series.size())));
  const double group_margin =
      (group_width - bar_width * static_cast<double>(plot.series.size())) / 2;
  const bool is_roomy = bar_width >= 36;  // wide enough for a number above each bar
  const bool slanted = plot.groups.size() > 8;
  for (std::size_t g = 0; g < plot.groups.size(); ++g) {
    const double group_left = kLeft + group_width * static_cast<double>(g);
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
  return svg + legend(entries) + "</svg>\n";
}

// The hues are those of Okabe and Ito, made darker on white and lighter on black until each stands
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
.s3.line, .s3 .line { stroke-dasharray: 10 3; }
.s4.line, .s4 .line { stroke-dasharray: 6 3; }
.s5.line, .s5 .line { stroke-dasharray: 8 3 2 3; }
.s6.line, .s6 .line { stroke-dasharray: 4 4; }
.s7.line, .s7 .line { stroke-dasharray: 2 3; }
@media (prefers-color-scheme: dark) {
  .s0 { --colour: #4aa8e8; }
  .s1 { --colour: #ff8242; }
  .s2 { --colour: #1fc796; }
  .s3 { --colour: #e08fc0; }
  .s4 { --colour: #e69f00; }
  .s5 { --colour: #8fd0f5; }
  .s6 { --colour: #e6da3c; }
  .s7 { --colour: #adadad; }
}
)css";
}

}  // namespace weir::report
