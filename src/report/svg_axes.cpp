// SPDX-License-Identifier: Apache-2.0
#include "report/svg_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/quantity_text.h"
#include "formats/time_text.h"

namespace weir::report {
namespace {

constexpr double kLegendLine = 22;
constexpr double kTickLength = 5;

}  // namespace

std::string axis_number(double value) {
  // Ticks are sums of round steps: a rounding error must not show as 0.30000000000000004.
  const double rounded = std::round(value * 1e6) / 1e6;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

double Axis::at(double value) const {
  if (is_log) {
    const double part = std::log10(std::max(value, least) / least) / std::log10(most / least);
    return from + part * (to - from);
  }
  return from + (value - least) / (most - least) * (to - from);
}

Axis axis_over(const std::vector<double>& ticks, double from, double to) {
  return {ticks.front(), ticks.back(), from, to};
}

std::string begin_svg(const PlotFrame& frame, const std::string& title) {
  return fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
      "xmlns=\"http://www.w3.org/2000/svg\">\n",
      frame.width, frame.height, escape_markup(title));
}

std::string y_axis(const PlotFrame& frame, const Axis& axis, const std::vector<double>& ticks,
                   const std::string& label) {
  std::string svg;
  for (const double tick : ticks) {
    const double y = axis.at(tick);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", frame.left, y,
                       frame.x_end());
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       frame.left - 8, y + 4, axis_number(tick));
  }
  const double middle = (axis.from + axis.to) / 2;
  return svg + fmt::format(
                   "<text class=\"label\" transform=\"translate(16 {:.1f}) rotate(-90)\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   middle, escape_markup(label));
}

std::vector<Tick> number_ticks(const std::vector<double>& values) {
  std::vector<Tick> ticks;
  for (const double value : values) ticks.push_back({value, axis_number(value)});
  return ticks;
}

std::string x_axis(const PlotFrame& frame, const Axis& axis, const std::vector<Tick>& ticks,
                   const std::string& label) {
  const double bottom = frame.y_end();
  std::string svg = fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", axis.from,
                                bottom, axis.to);
  for (const Tick& tick : ticks) {
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", axis.at(tick.value),
                       bottom, kTickLength);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                       axis.at(tick.value), bottom + 19, escape_markup(tick.text));
  }
  return svg + fmt::format(
                   "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" "
                   "text-anchor=\"middle\">{}</text>\n",
                   (axis.from + axis.to) / 2, frame.height - 8, escape_markup(label));
}

std::string legend(const PlotFrame& frame, const std::vector<LegendEntry>& entries) {
  std::string svg;
  const double x = frame.x_end() + 16;
  double y = frame.top + 8;
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

std::vector<double> log_ticks(double least, double most) {
  double first = 1e-6;
  while (first * 10 <= least) first *= 10;
  std::vector<double> ticks = {first};
  while (ticks.back() < most) ticks.push_back(ticks.back() * 10);
  if (ticks.size() == 1) ticks.push_back(first * 10);
  return ticks;
}

std::vector<Tick> time_ticks(Time from, Time to, int wanted) {
  using namespace std::chrono_literals;
  constexpr std::array<Duration, 17> kSteps = {1s, 5s, 15s, 1min, 5min, 15min, 30min, 1h,  2h,
                                               3h, 6h, 12h, 24h,  48h,  120h,  240h,  720h};
  const Duration least = (to - from) / wanted;
  const auto found = std::lower_bound(kSteps.begin(), kSteps.end(), least);
  const Duration step = found == kSteps.end() ? 720h * (least / 720h + 1) : *found;
  const bool is_date = from >= Time{} + 30 * 365 * 24h;
  std::vector<Tick> ticks;
  Time tick{(from.time_since_epoch() + step - Duration{1}) / step * step};
  for (; tick <= to; tick += step) {
    std::string text = formats::format_duration(tick.time_since_epoch());
    if (is_date) {
      const std::string date = formats::format_time(tick);  // 2026-11-15T09:00:00Z
      text = tick.time_since_epoch() % 24h == 0s ? date.substr(5, 5) : date.substr(11, 5);
    }
    ticks.push_back({to_seconds(tick - from), std::move(text)});
  }
  return ticks;
}

}  // namespace weir::report
