// SPDX-License-Identifier: Apache-2.0
//
// How far a model is from what was measured, as a share of the measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace weir::predict {

struct FitQuality {
  std::size_t points = 0;
  double mean_error = 0;
  double worst_error = 0;
  friend bool operator==(const FitQuality&, const FitQuality&) = default;

  void add(double modelled, double measured) {
    const double error = std::abs(modelled / measured - 1);
    const auto before = static_cast<double>(points);
    ++points;
    mean_error = (mean_error * before + error) / static_cast<double>(points);
    worst_error = std::max(worst_error, error);
  }
};

// Fewer points leave too little over after a fit: interpolate in the table instead.
inline constexpr std::size_t kFewestFitPoints = 6;

}  // namespace weir::predict
