// SPDX-License-Identifier: Apache-2.0
//
// Small plots as inline SVG: lines with a band over seeds, and grouped bars. Colours and fonts come
// from the page's style sheet (plot_style()), so one drawing suits light and dark. Every mark has a
// <title>, which browsers show on hover. Series differ by colour (safe for colour-blind readers)
// and by dash. The same plot always gives the same bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg_axes.h"

namespace weir::report {

struct PlotPoint {
  double x = 0;
  double y = 0;
  double low = 0;  // the band; equal to y when there is none
  double high = 0;
};

struct PlotSeries {
  std::string name;
  std::size_t style = 0;          // 0 is the most striking
  std::vector<PlotPoint> points;  // x ascending
};

struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<PlotSeries> series;
  std::optional<double> x_from;   // points before it are left out
  std::optional<double> y_least;  // otherwise taken from the data
  std::optional<double> y_most;
  double hover_step = 0;  // marks only where x is a multiple; 0: on every point
  bool diagonal = false;  // a reference line y = x, up to the top
  int decimals = 2;       // of y in hover titles
  bool x_is_log = false;  // points at or below 0 stand at the left end
  std::size_t marks = 0;  // of each series, evenly over its points; 0: on every point
};

struct Bar {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct BarSeries {
  std::string name;
  std::size_t style = 0;
  std::vector<std::optional<Bar>> bars;  // one for each group
};

struct BarPlot {
  std::string title;
  std::string y_label;
  std::vector<std::string> groups;
  std::vector<BarSeries> series;
  int decimals = 1;
};

std::string to_svg(const LinePlot& plot);
std::string to_svg(const BarPlot& plot);

// The style sheet the plots rely on.
std::string_view plot_style();

}  // namespace weir::report
