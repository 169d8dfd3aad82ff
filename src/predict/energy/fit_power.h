// SPDX-License-Identifier: Apache-2.0
//
// Time and power of one job at any size, batch and clock, from a few measured points. What was
// measured is used as it is; between it the formulas of power_model.h are fitted, least squares of
// log T and then of log P (relative errors: a slow point weighs no more than a fast one), no
// coefficient below 0. With fewer than kFewestFitPoints, or where all points have one clock and one
// batch, nothing is fitted and values lie on lines between measured neighbours.
//
// A coefficient is fitted only where the points can tell it: a2 and p1 need two clocks, a0 two
// batches, s0 a point on several GPUs of a node, s1 two such sizes, r0 to r2 the same across nodes,
// the overlap two batches on several GPUs. The rest stays 0 (the overlap 1), and the model answers
// only for what its points reach: not for other clocks where all points have one clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "predict/energy/fit_quality.h"
#include "predict/energy/power_model.h"

namespace weir::predict {

struct JobConfiguration {
  std::int32_t gpus = 1;
  std::int32_t nodes = 1;
  double local_batch = 1;  // samples on each GPU
  double clock = 1;        // of the highest
  friend auto operator<=>(const JobConfiguration&, const JobConfiguration&) = default;
};

struct ProfilePoint {
  JobConfiguration at;
  double seconds = 0;  // of one iteration
  double watts = 0;    // of all GPUs of the job, on average
};

struct PowerFit {
  TimeModel time;
  GpuPower power;
  FitQuality time_quality;
  FitQuality power_quality;
};

enum class PredictionSource : std::uint8_t { measured, fitted, interpolated };

struct PowerPrediction {
  double seconds = 0;
  double watts = 0;
  PredictionSource source = PredictionSource::measured;
};

class FittedJob {
 public:
  // Requires: each configuration once, everything positive. More points: make a new one.
  explicit FittedJob(std::vector<ProfilePoint> points);

  const std::optional<PowerFit>& fit() const { return fit_; }
  // Nothing where neither a point nor the fit nor two neighbours say anything. Neighbours differ
  // from the configuration, on either side, in one of GPUs, batch and clock only.
  std::optional<PowerPrediction> predict(const JobConfiguration& at) const;

 private:
  bool is_reached(const JobConfiguration& at) const;
  std::optional<PowerPrediction> interpolate(const JobConfiguration& at) const;

  std::vector<ProfilePoint> points_;  // by configuration
  std::optional<PowerFit> fit_;
};

}  // namespace weir::predict
