// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/nonnegative_least_squares.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weir::predict {
namespace {

constexpr int kMostDescentSweeps = 3000;
constexpr double kSmallestDescentStep = 1e-12;  // of the largest value, both in scaled columns
constexpr double kLeastPivot = 1e-13;
constexpr double kSmallestGradient = 1e-12;

// Columns of length 1: their products with each other, and with the targets.
struct UnitProblem {
  std::size_t columns = 0;
  std::vector<double> products{};
  std::vector<double> targets{};

  double gradient(const std::vector<double>& values, std::size_t column) const {
    double gradient = targets[column];
    for (std::size_t j = 0; j < columns; ++j)
      gradient -= products[column * columns + j] * values[j];
    return gradient;
  }
};

// The best values where only those of `used` may differ from zero, by elimination; empty where columns are too much alike.
std::vector<double> best_of_used(const UnitProblem& problem, const std::vector<std::size_t>& used) {
  const std::size_t size = used.size();
  std::vector<std::vector<double>> rows(size, std::vector<double>(size + 1));
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j)
      rows[i][j] = problem.products[used[i] * problem.columns + used[j]];
    rows[i][size] = problem.targets[used[i]];
  }
  for (std::size_t pivot = 0; pivot < size; ++pivot) {
    if (rows[pivot][pivot] < kLeastPivot) return {};
    for (std::size_t i = pivot + 1; i < size; ++i) {
      const double factor = rows[i][pivot] / rows[pivot][pivot];
      for (std::size_t j = pivot; j <= size; ++j) rows[i][j] -= factor * rows[pivot][j];
    }
  }
  std::vector<double> values(problem.columns);
  for (std::size_t i = size; i-- > 0;) {
    double value = rows[i][size];
    for (std::size_t j = i + 1; j < size; ++j) value -= rows[i][j] * values[used[j]];
    values[used[i]] = value / rows[i][i];
  }
  return values;
}

// Lawson and Hanson, from values that are near: columns that are nearly alike make descent crawl.
void finish_by_active_sets(const UnitProblem& problem, std::vector<double>& values) {
  for (std::size_t round = 0; round < 3 * problem.columns; ++round) {
    std::vector<std::size_t> used;
    std::size_t steepest = problem.columns;
    double slope = kSmallestGradient;
    for (std::size_t i = 0; i < problem.columns; ++i) {
      if (values[i] > 0) used.push_back(i);
      const double gradient = values[i] > 0 ? 0 : problem.gradient(values, i);
      if (gradient > slope) {
        steepest = i;
        slope = gradient;
      }
    }
    if (round > 0) {
      if (steepest == problem.columns) return;
      used.push_back(steepest);
      std::sort(used.begin(), used.end());
    }
    while (!used.empty()) {
      const std::vector<double> best = best_of_used(problem, used);
      if (best.empty()) return;
      // As far towards the best as all stay above zero.
      double share = 1;
      for (const std::size_t i : used)
        if (best[i] <= 0) share = std::min(share, values[i] / (values[i] - best[i]));
      for (const std::size_t i : used) values[i] += share * (best[i] - values[i]);
      if (share == 1) break;
      for (const std::size_t i : used)
        if (best[i] <= 0 && values[i] <= kSmallestDescentStep) values[i] = 0;
      std::erase_if(used, [&](std::size_t i) { return values[i] == 0; });
    }
  }
}

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
  std::vector<double> scale(columns_);
  for (std::size_t i = 0; i < columns_; ++i) {
    const double square = products_[i * columns_ + i];
    scale[i] = square > 0 ? 1 / std::sqrt(square) : 0;
  }
  UnitProblem problem{columns_, products_, targets_};
  for (std::size_t i = 0; i < columns_; ++i) {
    problem.targets[i] *= scale[i];
    for (std::size_t j = 0; j < columns_; ++j)
      problem.products[i * columns_ + j] *= scale[i] * scale[j];
  }
  std::vector<double> values(columns_);
  bool is_done = false;
  for (int sweep = 0; sweep < kMostDescentSweeps && !is_done; ++sweep) {
    double largest_step = 0;
    double largest = 0;
    for (std::size_t i = 0; i < columns_; ++i) {
      if (scale[i] == 0) continue;
      const double next = std::max(0.0, values[i] + problem.gradient(values, i));
      largest_step = std::max(largest_step, std::abs(next - values[i]));
      values[i] = next;
      largest = std::max(largest, next);
    }
    is_done = largest_step <= kSmallestDescentStep * largest;
  }
  if (!is_done) finish_by_active_sets(problem, values);
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
