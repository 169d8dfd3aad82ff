// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/bounded_least_squares.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weir::predict {
namespace {

constexpr int kMostSteps = 300;
constexpr double kFirstDamping = 1e-3;
constexpr double kMostDamping = 1e12;
constexpr double kSmallestGain = 1e-14;  // of the sum of squares, relative: then it has converged
constexpr double kDifference = 1e-7;     // of a value, for its derivative
constexpr double kSmallValue = 0.01;     // a value below counts as this for its derivative

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Solves the symmetric system in place by Cholesky's method; false when it is not positive definite.
bool solve(std::vector<std::vector<double>>& matrix, std::vector<double>& right) {
  const std::size_t size = right.size();
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double sum =
          matrix[i][j] - dot(std::span{matrix[i]}.first(j), std::span{matrix[j]}.first(j));
      if (i != j) {
        matrix[i][j] = sum / matrix[j][j];
        continue;
      }
      if (!(sum > 0)) return false;
      matrix[i][i] = std::sqrt(sum);
    }
  }
  for (std::size_t i = 0; i < size; ++i)
    right[i] =
        (right[i] - dot(std::span{matrix[i]}.first(i), std::span{right}.first(i))) / matrix[i][i];
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return true;
}

class Search {
 public:
  Search(const Residuals& residuals, std::size_t count, std::span<const BoundedValue> limits)
      : residuals_{residuals},
        limits_{limits},
        at_(limits.size()),
        here_(count),
        trial_(count),
        slopes_(limits.size(), std::vector<double>(count)) {
    for (std::size_t i = 0; i < limits.size(); ++i) {
      assert(limits[i].least <= limits[i].start && limits[i].start <= limits[i].most);
      at_[i] = limits[i].start;
    }
  }

  LeastSquares run() {
    double cost = cost_of(at_, here_);
    double damping = kFirstDamping;
    for (int step = 0; step < kMostSteps && damping < kMostDamping; ++step) {
      find_slopes();
      find_free();
      if (free_.empty()) break;
      bool improved = false;
      while (!improved && damping < kMostDamping) {
        const std::vector<double> next = stepped(damping);
        const double next_cost = cost_of(next, trial_);
        improved = next_cost < cost;
        if (!improved) {
          damping *= 4;
          continue;
        }
        const double gain = cost - next_cost;
        at_ = next;
        here_.swap(trial_);
        damping /= 3;
        if (gain <= kSmallestGain * cost) damping = kMostDamping;
        cost = next_cost;
      }
    }
    return {at_, cost};
  }

 private:
  double cost_of(std::span<const double> values, std::vector<double>& residuals) const {
    residuals_(values, residuals);
    return dot(residuals, residuals);
  }

  // One-sided differences, towards the inside of the box.
  void find_slopes() {
    std::vector<double> values = at_;
    for (std::size_t i = 0; i < at_.size(); ++i) {
      double difference = kDifference * std::max(std::abs(at_[i]), kSmallValue);
      if (at_[i] + difference > limits_[i].most) difference = -difference;
      values[i] = at_[i] + difference;
      residuals_(values, slopes_[i]);
      values[i] = at_[i];
      for (std::size_t k = 0; k < here_.size(); ++k)
        slopes_[i][k] = (slopes_[i][k] - here_[k]) / difference;
    }
  }

  // The values that may move: those that change something and do not lean on a side.
  void find_free() {
    free_.clear();
    for (std::size_t i = 0; i < at_.size(); ++i) {
      const double downhill = -dot(slopes_[i], here_);
      const bool leans = (at_[i] <= limits_[i].least && downhill <= 0) ||
                         (at_[i] >= limits_[i].most && downhill >= 0);
      if (!leans && dot(slopes_[i], slopes_[i]) > 0) free_.push_back(i);
    }
  }

  std::vector<double> stepped(double damping) const {
    std::vector<std::vector<double>> matrix(free_.size(), std::vector<double>(free_.size()));
    std::vector<double> step(free_.size());
    for (std::size_t i = 0; i < free_.size(); ++i) {
      for (std::size_t j = 0; j <= i; ++j) matrix[i][j] = dot(slopes_[free_[i]], slopes_[free_[j]]);
      matrix[i][i] *= 1 + damping;
      step[i] = -dot(slopes_[free_[i]], here_);
    }
    std::vector<double> next = at_;
    if (!solve(matrix, step)) return next;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const BoundedValue& limit = limits_[free_[i]];
      next[free_[i]] = std::clamp(at_[free_[i]] + step[i], limit.least, limit.most);
    }
    return next;
  }

  const Residuals& residuals_;
  std::span<const BoundedValue> limits_;
  std::vector<double> at_;
  std::vector<double> here_;                 // residuals at at_
  std::vector<double> trial_;                // residuals of a step that is tried
  std::vector<std::vector<double>> slopes_;  // by value: of each residual
  std::vector<std::size_t> free_;
};

}  // namespace

LeastSquares bounded_least_squares(const Residuals& residuals, std::size_t residual_count,
                                   std::span<const BoundedValue> values) {
  return Search{residuals, residual_count, values}.run();
}

}  // namespace weir::predict
