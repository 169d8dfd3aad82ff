// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "domain/kernel_model.h"

namespace weir::predict {

// Predicted and measured times, in any unit.
struct PredictedTime {
  double predicted = 0;
  double measured = 0;
};

struct MedianAndWorst {
  double median = 0;
  double worst = 0;
};
// Requires: not empty.
MedianAndWorst median_and_worst(std::vector<double> errors);

// The least of the values that so many percent of all are at most. Requires: ascending, not empty; 1 to 100 percent.
double covering_value(const std::vector<double>& ascending, std::size_t percent);

// Requires: all above 0.
ErrorFigures error_figures(const std::vector<PredictedTime>& times);

}  // namespace weir::predict
