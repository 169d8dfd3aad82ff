// SPDX-License-Identifier: Apache-2.0
//
// What a sweep over power limits says about a job on one GPU: how much of its time follows the clock
// and how much of its power does not. Limits are no clocks, so the clock of each point is unknown and
// fitted with the rest:
//
//   T_i = T ((1 - c) + c / x_i)      P_i = Pmax (q + (1 - q) x_i^3)      0 < x_i <= 1
//
// least squares of log T and log P together. At the largest limit x is 1 by definition (scaling all
// clocks would give the same curve), and T and Pmax are what was measured there: full speed is where
// predictions start from.
#pragma once

#include <optional>
#include <vector>

#include "domain/power_sweep.h"
#include "predict/energy/fit_quality.h"

namespace weir::predict {

struct SweepFit {
  double clock_bound_share = 0;  // c
  double full_watts = 0;         // Pmax
  double static_share = 0;       // q, p0 / Pmax
  std::vector<double> clocks;    // x_i, by point
  FitQuality time;
  FitQuality power;
};

// A job that the limits hardly touch: at its lowest power it drew 90 % of its highest or more. Its
// p1 is about 0, and its sweep does not tell how it would follow the clock.
bool is_untouched(const PowerSweep& sweep);

// Nothing for fewer than kFewestFitPoints points and for an untouched job.
std::optional<SweepFit> fit_sweep(const PowerSweep& sweep);

}  // namespace weir::predict
