// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/nonnegative_least_squares.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weir::predict {
namespace {

constexpr int kMostDescentSweeps = 3000;
constexpr double kSmallestDescentStep = 1e-12;  // of the largest value, both in scaled columns

}  // namespace

NonnegativeLeastSquares::NonnegativeLeastSquares(std::size_t columns)
    : columns_{columns}, products_(columns * columns), targets_(columns) {}

void NonnegativeLeastSquares::add(std::span<const double> values, double target, double weight) {
  assert(values.size() == columns_);
  const double square = weight * weight;
  for (std::size_t i = 0; i < columns_; ++i) {
    for (std::size_t j = 0; j < columns_; ++j)
      products_[i * columns_ + j] += square * values[i] * values[j];
    targets_[i] += square * values[i] * target;
  }
  target_square_ += square * target * target;
  ++rows_;
}

std::vector<double> NonnegativeLeastSquares::solve() const {
  // Scaled so that every column has length 1.
  std::vector<double> scale(columns_);
  for (std::size_t i = 0; i < columns_; ++i) {
    const double square = products_[i * columns_ + i];
    scale[i] = square > 0 ? 1 / std::sqrt(square) : 0;
  }
  std::vector<double> values(columns_);
  for (int sweep = 0; sweep < kMostDescentSweeps; ++sweep) {
    double largest_step = 0;
    double largest = 0;
    for (std::size_t i = 0; i < columns_; ++i) {
      if (scale[i] == 0) continue;
      double gradient = targets_[i] * scale[i];
      for (std::size_t j = 0; j < columns_; ++j)
        gradient -= products_[i * columns_ + j] * scale[i] * scale[j] * values[j];
      const double next = std::max(0.0, values[i] + gradient);
      largest_step = std::max(largest_step, std::abs(next - values[i]));
      values[i] = next;
      largest = std::max(largest, next);
    }
    if (largest_step <= kSmallestDescentStep * largest) break;
  }
  for (std::size_t i = 0; i < columns_; ++i) values[i] *= scale[i];
  return values;
}

double NonnegativeLeastSquares::optimality_gap(std::span<const double> values) const {
  double gap = 0;
  for (std::size_t i = 0; i < columns_; ++i) {
    const double square = products_[i * columns_ + i];
    if (!(square > 0) || !(target_square_ > 0)) continue;
    double gradient = targets_[i];
    for (std::size_t j = 0; j < columns_; ++j) gradient -= products_[i * columns_ + j] * values[j];
    gradient /= std::sqrt(square * target_square_);
    gap = std::max(gap, values[i] > 0 ? std::abs(gradient) : gradient);
  }
  return gap;
}

}  // namespace weir::predict
