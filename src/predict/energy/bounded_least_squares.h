// SPDX-License-Identifier: Apache-2.0
//
// The least sum of squared residuals over values that have limits each: Levenberg-Marquardt, where a
// step that leaves the box ends on its side, and a value on a side that pulls outwards is held there
// for the step. Written here because the problems are small (a dozen values, some dozens of
// residuals), values of exactly 0 are common answers, and no solver is among the dependencies.
// Finds a local minimum: give it several starts where there may be more than one. Deterministic.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace weir::predict {

// Requires: least <= start <= most, all finite. Scaled so that a change by 0.01 is a small but
// noticeable one.
struct BoundedValue {
  double start = 0;
  double least = 0;
  double most = 1;
};

struct LeastSquares {
  std::vector<double> values;
  double sum_of_squares = 0;
};

// Fills the residuals at the given values; they must be finite inside the box.
using Residuals = std::function<void(std::span<const double> values, std::span<double> residuals)>;

LeastSquares bounded_least_squares(const Residuals& residuals, std::size_t residual_count,
                                   std::span<const BoundedValue> values);

}  // namespace weir::predict
