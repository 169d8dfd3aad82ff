// SPDX-License-Identifier: Apache-2.0
//
// The least weighted sum of squares over values that may not be negative: coordinate descent on the normal
// equations, a closed form for each value. For few columns and many rows, where the answer often has zeros.
// (energy/bounded_least_squares is for formulas that are not linear.) Deterministic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weir::predict {

// Rows are added one by one, so a million of them need no memory.
class NonnegativeLeastSquares {
 public:
  explicit NonnegativeLeastSquares(std::size_t columns);

  // Requires: as many values as columns, all finite; weight >= 0. The weight multiplies the residual: 1 / target
  // makes it relative.
  void add(std::span<const double> values, double target, double weight);

  std::size_t rows() const { return rows_; }
  // Values >= 0, one per column. Columns that are 0 in every row get 0.
  std::vector<double> solve() const;
  // How far the values are from the least sum, relative: 0 at the optimum (Karush-Kuhn-Tucker).
  double optimality_gap(std::span<const double> values) const;

 private:
  std::size_t columns_;
  std::size_t rows_ = 0;
  std::vector<double> products_;  // of columns by columns
  std::vector<double> targets_;   // of columns by the target
  double target_square_ = 0;
};

}  // namespace weir::predict
