// SPDX-License-Identifier: Apache-2.0
//
// A small linear programme solver:  maximise c.x  subject to  A x <= b,  x >= 0.
//
// Made for column generation: b >= 0 is fixed at construction, so x = 0 is a first basic solution
// and no phase one is needed; columns are added at any time and solve() goes on from the basis it
// left.
//
// Method: revised primal simplex with an explicit dense inverse of the basis, inverted anew after
// kRefactorPivots pivots and before optimality is declared. Entering variable: largest reduced
// cost, the lowest number on ties; after kDegenerateLimit pivots without progress Bland's rule
// takes over until the objective moves again, so the method ends.
//
// Promise: the same inputs in the same order give the same pivots and the same doubles on every
// platform with IEEE-754 arithmetic, as long as the compiler fuses no multiply-adds
// (-ffp-contract=off). Only + - * / and comparisons are used.
// Limits: dense m x m doubles, meant for up to about a thousand rows. Tolerances are absolute:
// scale the data to magnitudes between 1e-3 and 1e7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::schedule {

class LinearProgram {
 public:
  struct Entry {
    std::size_t row = 0;
    double value = 0;
  };

  enum class Status : std::uint8_t {
    optimal,
    unbounded,
    pivot_limit,  // x is feasible, the duals are not final
    singular,     // numerical failure: the basis could not be inverted
  };

  // `rhs` is b. Requires: every element >= 0.
  explicit LinearProgram(std::vector<double> rhs);

  // Adds a variable x; returns its number: 0, 1, ... in the order of the calls. Requires: a row
  // appears once.
  std::size_t add_column(double objective, std::span<const Entry> entries);

  // Pivots until optimal, `max_pivots` times at most.
  Status solve(std::int64_t max_pivots);

  // Of the last solve().
  double objective() const;
  double primal(std::size_t column) const;                  // x of one column
  std::span<const double> duals() const { return duals_; }  // by row; >= 0 when optimal

  std::size_t rows() const { return rhs_.size(); }
  std::size_t columns() const { return first_entry_.size() - 1; }

 private:
  static constexpr double kReducedCostTolerance = 1e-7;
  static constexpr double kPivotTolerance = 1e-9;
  static constexpr double kZeroStep = 1e-10;
  static constexpr int kRefactorPivots = 200;
  static constexpr int kDegenerateLimit = 50;

  // Variables are numbered: the slack of row i is i, column j is rows() + j.
  using Variable = std::size_t;

  std::span<const Entry> entries_of(Variable column) const;
  double reduced_cost(Variable variable) const;
  std::optional<Variable> choose_entering(bool by_bland) const;
  std::optional<std::size_t> choose_leaving(bool by_bland) const;  // a row; nothing when unbounded
  void compute_direction(Variable variable);                       // direction_ = inverse * column
  void eliminate(std::size_t row);  // direction_ becomes the unit vector of the row
  void pivot(Variable entering, std::size_t row);
  bool refactor();  // inverse, basic values and duals from the basis; false when it is singular

  std::vector<double> rhs_;
  std::vector<double> cost_;              // by variable
  std::vector<Entry> entries_;            // of all columns, one after the other
  std::vector<std::size_t> first_entry_;  // columns() + 1 positions in entries_
  std::vector<Variable> basis_;           // by row
  std::vector<bool> in_basis_;            // by variable
  std::vector<double> inverse_;           // row-major
  std::vector<double> value_;             // of the basic variables, by row
  std::vector<double> duals_;
  std::vector<double> direction_;
  int since_refactor_ = 0;
};

}  // namespace weir::schedule
