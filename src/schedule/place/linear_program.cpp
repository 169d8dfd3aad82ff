// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/linear_program.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace weir::schedule {

LinearProgram::LinearProgram(std::vector<double> rhs)
    : rhs_{std::move(rhs)},
      cost_(rows(), 0.0),
      first_entry_{0},
      basis_(rows()),
      in_basis_(rows(), true),
      inverse_(rows() * rows(), 0.0),
      value_{rhs_},
      duals_(rows(), 0.0),
      direction_(rows(), 0.0) {
  assert(std::all_of(rhs_.begin(), rhs_.end(), [](double b) { return b >= 0; }) &&
         "x = 0 must be feasible");
  std::iota(basis_.begin(), basis_.end(), std::size_t{0});
  for (std::size_t i = 0; i < rows(); ++i) inverse_[i * rows() + i] = 1.0;
}

std::size_t LinearProgram::add_column(double objective, std::span<const Entry> entries) {
  cost_.push_back(objective);
  in_basis_.push_back(false);
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  first_entry_.push_back(entries_.size());
  return columns() - 1;
}

std::span<const LinearProgram::Entry> LinearProgram::entries_of(Variable column) const {
  const std::size_t first = first_entry_[column - rows()];
  return std::span{entries_}.subspan(first, first_entry_[column - rows() + 1] - first);
}

double LinearProgram::reduced_cost(Variable variable) const {
  if (variable < rows()) return -duals_[variable];
  double cost = cost_[variable];
  for (const Entry& entry : entries_of(variable)) cost -= duals_[entry.row] * entry.value;
  return cost;
}

std::optional<LinearProgram::Variable> LinearProgram::choose_entering(bool by_bland) const {
  std::optional<Variable> best;
  double best_cost = kReducedCostTolerance;
  for (Variable variable = 0; variable < cost_.size(); ++variable) {
    if (in_basis_[variable]) continue;
    const double cost = reduced_cost(variable);
    if (cost <= best_cost) continue;
    best = variable;
    best_cost = cost;
    if (by_bland) break;
  }
  return best;
}

void LinearProgram::compute_direction(Variable variable) {
  const std::size_t m = rows();
  if (variable < m) {
    for (std::size_t i = 0; i < m; ++i) direction_[i] = inverse_[i * m + variable];
    return;
  }
  const std::span<const Entry> entries = entries_of(variable);
  for (std::size_t i = 0; i < m; ++i) {
    double sum = 0;
    for (const Entry& entry : entries) sum += inverse_[i * m + entry.row] * entry.value;
    direction_[i] = sum;
  }
}

std::optional<std::size_t> LinearProgram::choose_leaving(bool by_bland) const {
  std::optional<std::size_t> best;
  double best_ratio = 0;
  for (std::size_t i = 0; i < rows(); ++i) {
    if (direction_[i] <= kPivotTolerance) continue;
    const double ratio = std::max(0.0, value_[i]) / direction_[i];
    bool is_better = !best || ratio < best_ratio - kZeroStep;
    if (!is_better && ratio <= best_ratio + kZeroStep) {
      is_better = by_bland ? basis_[i] < basis_[*best] : direction_[i] > direction_[*best];
    }
    if (!is_better) continue;
    best_ratio = best ? std::min(ratio, best_ratio) : ratio;
    best = i;
  }
  return best;
}

void LinearProgram::eliminate(std::size_t row) {
  const std::size_t m = rows();
  double* const pivot_row = &inverse_[row * m];
  const double scale = 1.0 / direction_[row];
  for (std::size_t k = 0; k < m; ++k) pivot_row[k] *= scale;
  for (std::size_t i = 0; i < m; ++i) {
    const double factor = direction_[i];
    if (i == row || factor == 0.0) continue;
    double* const other = &inverse_[i * m];
    for (std::size_t k = 0; k < m; ++k) other[k] -= factor * pivot_row[k];
  }
}

void LinearProgram::pivot(Variable entering, std::size_t row) {
  const double cost = reduced_cost(entering);
  const double step = std::max(0.0, value_[row]) / direction_[row];
  eliminate(row);
  for (std::size_t i = 0; i < rows(); ++i) {
    if (i == row) continue;
    value_[i] -= direction_[i] * step;
    if (value_[i] < 0 && value_[i] > -kPivotTolerance) value_[i] = 0;
  }
  value_[row] = step;
  for (std::size_t k = 0; k < rows(); ++k) duals_[k] += cost * inverse_[row * rows() + k];
  in_basis_[basis_[row]] = false;
  in_basis_[entering] = true;
  basis_[row] = entering;
  ++since_refactor_;
}

bool LinearProgram::refactor() {
  const std::size_t m = rows();
  since_refactor_ = 0;
  // Slacks of the basis go to their own rows, so that only the columns need elimination.
  std::vector<Variable> columns_in_basis;
  for (const Variable variable : basis_) {
    if (variable >= m) columns_in_basis.push_back(variable);
  }
  std::sort(columns_in_basis.begin(), columns_in_basis.end());
  std::vector<bool> is_taken(in_basis_.begin(), in_basis_.begin() + static_cast<std::ptrdiff_t>(m));
  std::iota(basis_.begin(), basis_.end(), std::size_t{0});
  inverse_.assign(m * m, 0.0);
  for (std::size_t i = 0; i < m; ++i) inverse_[i * m + i] = 1.0;
  // Product form: each column replaces the slack of the free row with the largest element.
  for (const Variable column : columns_in_basis) {
    compute_direction(column);
    std::size_t best = m;
    for (std::size_t i = 0; i < m; ++i) {
      if (is_taken[i]) continue;
      if (best == m || std::fabs(direction_[i]) > std::fabs(direction_[best])) best = i;
    }
    if (best == m || std::fabs(direction_[best]) < kPivotTolerance) return false;
    is_taken[best] = true;
    basis_[best] = column;
    eliminate(best);
  }
  std::fill(duals_.begin(), duals_.end(), 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < m; ++k) sum += inverse_[i * m + k] * rhs_[k];
    value_[i] = std::max(0.0, sum);
    const double cost = cost_[basis_[i]];
    if (cost == 0.0) continue;
    for (std::size_t k = 0; k < m; ++k) duals_[k] += cost * inverse_[i * m + k];
  }
  return true;
}

LinearProgram::Status LinearProgram::solve(std::int64_t max_pivots) {
  int degenerate = 0;
  for (std::int64_t pivots = 0;;) {
    if (since_refactor_ >= kRefactorPivots && !refactor()) return Status::singular;
    const bool by_bland = degenerate >= kDegenerateLimit;
    const std::optional<Variable> entering = choose_entering(by_bland);
    if (!entering) {
      if (since_refactor_ == 0) return Status::optimal;
      if (!refactor()) return Status::singular;  // look again with clean numbers
      continue;
    }
    if (pivots++ == max_pivots) return Status::pivot_limit;
    compute_direction(*entering);
    const std::optional<std::size_t> row = choose_leaving(by_bland);
    if (!row) return Status::unbounded;
    degenerate = value_[*row] <= kZeroStep ? degenerate + 1 : 0;
    pivot(*entering, *row);
  }
}

double LinearProgram::objective() const {
  double sum = 0;
  for (std::size_t i = 0; i < rows(); ++i) sum += cost_[basis_[i]] * value_[i];
  return sum;
}

double LinearProgram::primal(std::size_t column) const {
  const auto row = std::find(basis_.begin(), basis_.end(), rows() + column);
  return row == basis_.end() ? 0.0 : value_[static_cast<std::size_t>(row - basis_.begin())];
}

}  // namespace weir::schedule
