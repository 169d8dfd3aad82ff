// SPDX-License-Identifier: Apache-2.0
//
// What every plot is drawn with: the frame, axes, ticks and the legend. Colours and fonts come from
// the page's style sheet (plot_style() in svg_plot.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "domain/time.h"

namespace weir::report {

// Colours and dashes repeat after this many series.
inline constexpr std::size_t kSeriesStyles = 12;

// The drawing area, in SVG units. The legend stands to the right of the axes.
struct PlotFrame {
  double width = 900;
  double height = 380;
  double left = 76;
  double right = 150;
  double top = 16;
  double bottom = 48;

  constexpr double x_end() const { return width - right; }
  constexpr double y_end() const { return height - bottom; }
};

inline constexpr PlotFrame kPlotFrame;

struct Axis {
  double least = 0;
  double most = 1;
  double from = 0;  // where `least` is drawn
  double to = 1;
  bool is_log = false;  // then least > 0

  double at(double value) const;
};

// From the first tick to the last.
Axis axis_over(const std::vector<double>& ticks, double from, double to);

struct Tick {
  double value = 0;
  std::string text;
};

struct LegendEntry {
  std::string name;
  std::size_t style = 0;
  bool is_bar = false;
};

std::string begin_svg(const PlotFrame& frame, const std::string& title);
std::string y_axis(const PlotFrame& frame, const Axis& axis, const std::vector<double>& ticks,
                   const std::string& label);
std::string x_axis(const PlotFrame& frame, const Axis& axis, const std::vector<Tick>& ticks,
                   const std::string& label);
std::string legend(const PlotFrame& frame, const std::vector<LegendEntry>& entries);

// A tick's number without the rounding errors of its sum.
std::string axis_number(double value);
std::vector<Tick> number_ticks(const std::vector<double>& values);

// Positions for about `wanted` round tick marks from at or below `least` to at or above `most`.
std::vector<double> round_ticks(double least, double most, int wanted);

// Text made safe for HTML and SVG.
std::string escape_markup(std::string_view text);

// Powers of ten from at or below `least` to at or above `most`. Requires: 0 < least.
std::vector<double> log_ticks(double least, double most);

// At most about `wanted` ticks at round times; values in seconds after `from`. Times since the start
// of a trace read "6h", dates "09:00" and "11-15" at midnight.
std::vector<Tick> time_ticks(Time from, Time to, int wanted);

}  // namespace weir::report
