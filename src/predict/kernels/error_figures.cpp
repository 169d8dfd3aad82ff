// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/error_figures.h"

#include <algorithm>
#include <cmath>

namespace weir::predict {

MedianAndWorst median_and_worst(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  return {(errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2, errors.back()};
}

double covering_value(const std::vector<double>& ascending, std::size_t percent) {
  return ascending[(ascending.size() * percent + 99) / 100 - 1];  // rounded up, from 1
}

ErrorFigures error_figures(const std::vector<PredictedTime>& times) {
  ErrorFigures figures;
  figures.samples = static_cast<std::int64_t>(times.size());
  if (times.empty()) return figures;
  std::vector<double> errors;
  errors.reserve(times.size());
  const auto count = static_cast<double>(times.size());
  for (const PredictedTime& time : times) {
    const double error = std::abs(time.predicted / time.measured - 1);
    errors.push_back(error);
    figures.mean += error / count;
    figures.bias += std::log(time.predicted / time.measured) / count;
    figures.within_10_percent += error <= 0.1 ? 1 / count : 0;
  }
  std::sort(errors.begin(), errors.end());
  figures.median = median_and_worst(errors).median;
  figures.p90 = covering_value(errors, 90);
  return figures;
}

}  // namespace weir::predict
