// SPDX-License-Identifier: Apache-2.0
//
// Distributions as curves: which share of all jobs has at most so much, or at least.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "report/svg_plot.h"
#include "report/table.h"

namespace weir::report {

// Sorted values as a curve of at most so many points: how many percent of `whole` come up to x.
// Jobs without a value count in `whole` only, so the curve stays below 100 %.
PlotSeries share_curve(std::string name, std::size_t style, std::span<const double> sorted,
                       std::size_t whole, std::size_t most_points);

// How late a job may be in a curve of what was left of the time allowed, in %; later is as bad.
inline constexpr double kLatestShown = -100;

// What the curves of a plot say at a few shares.
Table quantile_table(const LinePlot& plot, const std::string& title);

}  // namespace weir::report
