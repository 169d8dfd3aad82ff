// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/fit_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "predict/energy/bounded_least_squares.h"
#include "predict/energy/power_model.h"

namespace weir::predict {
namespace {

constexpr double kTouchedBelow = 0.9;
constexpr double kLowestClock = 0.02;
constexpr double kLeastShare = 0.001;  // at 0 the clocks would be free of the times
// The curve bends differently for small and large c; from one of these the best fit is reached.
constexpr std::array<double, 4> kFirstShares{0.1, 0.3, 0.6, 0.95};

// Places of the values; the clocks of all points but the last follow.
constexpr std::size_t kShare = 0;
constexpr std::size_t kStatic = 1;
constexpr std::size_t kFirstClock = 2;

double relative_time(double share, double clock) {
  return 1 - share + share / clock;
}

double relative_power(double static_share, double clock) {
  return GpuPower{1, static_share, 0}.computing_watts(clock);
}

class SweepProblem {
 public:
  explicit SweepProblem(const PowerSweep& sweep)
      : points_{sweep.points}, last_{sweep.points.back()} {}

  LeastSquares best() const {
    LeastSquares best{{}, std::numeric_limits<double>::infinity()};
    for (const double share : kFirstShares) {
      const auto start = start_with(share);
      const LeastSquares found =
          bounded_least_squares([this](std::span<const double> values,
                                       std::span<double> residuals) { fill(values, residuals); },
                                2 * points_.size(), start);
      if (found.sum_of_squares < best.sum_of_squares) best = found;
    }
    return best;
  }

  double clock_at(std::span<const double> values, std::size_t point) const {
    return point + 1 == points_.size() ? 1 : values[kFirstClock + point];
  }
  double seconds_at(std::span<const double> values, std::size_t point) const {
    return last_.seconds * relative_time(values[kShare], clock_at(values, point));
  }
  double watts_at(std::span<const double> values, std::size_t point) const {
    return last_.watts * relative_power(values[kStatic], clock_at(values, point));
  }

 private:
  // The clocks as the times have them if the share is right.
  std::vector<BoundedValue> start_with(double share) const {
    std::vector<BoundedValue> values{{share, kLeastShare, 1}, {0.5, 0, 1}};
    for (std::size_t i = 0; i + 1 < points_.size(); ++i) {
      const double slower = points_[i].seconds / last_.seconds - 1;
      const double clock = share / (share + std::max(slower, 0.0));
      values.push_back({std::max(clock, kLowestClock), kLowestClock, 1});
    }
    return values;
  }

  void fill(std::span<const double> values, std::span<double> residuals) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      residuals[2 * i] = std::log(seconds_at(values, i) / points_[i].seconds);
      residuals[2 * i + 1] = std::log(watts_at(values, i) / points_[i].watts);
    }
  }

  std::span<const SweepPoint> points_;
  SweepPoint last_;
};

}  // namespace

bool is_untouched(const PowerSweep& sweep) {
  const auto [least, most] = std::minmax_element(
      sweep.points.begin(), sweep.points.end(),
      [](const SweepPoint& a, const SweepPoint& b) { return a.watts < b.watts; });
  return least->watts >= kTouchedBelow * most->watts;
}

std::optional<SweepFit> fit_sweep(const PowerSweep& sweep) {
  if (sweep.points.size() < kFewestFitPoints || is_untouched(sweep)) return std::nullopt;
  const SweepProblem problem{sweep};
  const std::vector<double> values = problem.best().values;
  SweepFit fit;
  fit.clock_bound_share = values[kShare];
  fit.full_watts = sweep.points.back().watts;
  fit.static_share = values[kStatic];
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    fit.clocks.push_back(problem.clock_at(values, i));
    fit.time.add(problem.seconds_at(values, i), sweep.points[i].seconds);
    fit.power.add(problem.watts_at(values, i), sweep.points[i].watts);
  }
  return fit;
}

}  // namespace weir::predict
