// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/linear_program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "domain/seeded_rng.h"

namespace weir::schedule {
namespace {

constexpr double kClose = 1e-6;

struct Problem {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> a;  // row-major
  std::vector<double> b;
  std::vector<double> c;

  double at(std::size_t i, std::size_t j) const { return a[i * columns + j]; }
  bool is_bounded() const {
    for (std::size_t j = 0; j < columns; ++j) {
      bool is_limited = c[j] <= 0;
      for (std::size_t i = 0; i < rows; ++i) is_limited |= at(i, j) > 0;
      if (!is_limited) return false;
    }
    return true;
  }
};

// Small whole numbers: right-hand sides of 0 and equal ratios make many degenerate.
Problem random_problem(SeededRng& rng) {
  const auto draw = [&](std::uint64_t bound) { return static_cast<double>(rng.below(bound)); };
  Problem problem;
  problem.rows = 1 + rng.below(4);
  problem.columns = 1 + rng.below(6);
  for (std::size_t i = 0; i < problem.rows * problem.columns; ++i) problem.a.push_back(draw(5));
  for (std::size_t i = 0; i < problem.rows; ++i) problem.b.push_back(draw(9));
  for (std::size_t j = 0; j < problem.columns; ++j) problem.c.push_back(draw(20) - 3);
  return problem;
}

std::vector<LinearProgram::Entry> column_of(const Problem& problem, std::size_t j) {
  std::vector<LinearProgram::Entry> entries;
  for (std::size_t i = 0; i < problem.rows; ++i) {
    if (problem.at(i, j) != 0) entries.push_back({i, problem.at(i, j)});
  }
  return entries;
}

// The objective of one basis, by Gauss-Jordan elimination; below 0 when it is singular or
// infeasible.
double value_of_basis(const Problem& problem, const std::vector<std::size_t>& variables) {
  const std::size_t m = problem.rows;
  std::vector<std::vector<double>> t(m, std::vector<double>(m + 1));
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t k = 0; k < m; ++k) {
      const std::size_t v = variables[k];
      t[i][k] = v < problem.columns ? problem.at(i, v) : (v - problem.columns == i ? 1.0 : 0.0);
    }
    t[i][m] = problem.b[i];
  }
  for (std::size_t k = 0; k < m; ++k) {
    std::size_t largest = k;
    for (std::size_t i = k; i < m; ++i) {
      if (std::fabs(t[i][k]) > std::fabs(t[largest][k])) largest = i;
    }
    std::swap(t[k], t[largest]);
    if (std::fabs(t[k][k]) < 1e-9) return -1;
    for (std::size_t i = 0; i < m; ++i) {
      if (i == k) continue;
      const double factor = t[i][k] / t[k][k];
      for (std::size_t q = k; q <= m; ++q) t[i][q] -= factor * t[k][q];
    }
  }
  double value = 0;
  for (std::size_t k = 0; k < m; ++k) {
    const double x = t[k][m] / t[k][k];
    if (x < -1e-9) return -1;
    if (variables[k] < problem.columns) value += x * problem.c[variables[k]];
  }
  return value;
}

// An optimum is at a basis: looks at all of them. x = 0 is one, so it is never below 0.
double best_of_all_bases(const Problem& problem) {
  double best = 0;
  const std::size_t variables = problem.rows + problem.columns;
  for (unsigned set = 0; set < 1U << variables; ++set) {
    if (static_cast<std::size_t>(std::popcount(set)) != problem.rows) continue;
    std::vector<std::size_t> chosen;
    for (std::size_t v = 0; v < variables; ++v) {
      if (((set >> v) & 1U) != 0) chosen.push_back(v);
    }
    best = std::max(best, value_of_basis(problem, chosen));
  }
  return best;
}

void expect_feasible_and_dual(const Problem& problem, const LinearProgram& lp) {
  double dual_objective = 0;
  for (std::size_t i = 0; i < problem.rows; ++i) {
    const double dual = lp.duals()[i];
    EXPECT_GE(dual, -kClose);
    dual_objective += dual * problem.b[i];
    double used = 0;
    for (std::size_t j = 0; j < problem.columns; ++j) used += problem.at(i, j) * lp.primal(j);
    EXPECT_LE(used, problem.b[i] + kClose);
  }
  for (std::size_t j = 0; j < problem.columns; ++j) {
    EXPECT_GE(lp.primal(j), 0);
    double gain = problem.c[j];
    for (std::size_t i = 0; i < problem.rows; ++i) gain -= lp.duals()[i] * problem.at(i, j);
    EXPECT_LE(gain, kClose);
  }
  EXPECT_NEAR(dual_objective, lp.objective(), kClose);
}

TEST(LinearProgram, FindsTheBestOfAllBasesAndItsDualWhileColumnsArrive) {
  SeededRng rng{7};
  int bounded = 0;
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = random_problem(rng);
    LinearProgram lp{problem.b};
    for (std::size_t j = 0; j < problem.columns; ++j) {
      EXPECT_EQ(lp.add_column(problem.c[j], column_of(problem, j)), j);
      if (rng.below(2) == 0) lp.solve(1000);
    }
    if (!problem.is_bounded()) {
      EXPECT_EQ(lp.solve(1000), LinearProgram::Status::unbounded);
      continue;
    }
    ++bounded;
    ASSERT_EQ(lp.solve(1000), LinearProgram::Status::optimal);
    EXPECT_NEAR(lp.objective(), best_of_all_bases(problem), kClose);
    expect_feasible_and_dual(problem, lp);
  }
  EXPECT_GT(bounded, 500);
}

TEST(LinearProgram, EndsOnBealesExampleWhereTheLargestReducedCostCyclesForEver) {
  using Column = std::vector<LinearProgram::Entry>;
  LinearProgram lp{{0, 0, 1}};
  lp.add_column(0.75, Column{{0, 0.25}, {1, 0.5}});
  lp.add_column(-150, Column{{0, -60}, {1, -90}});
  lp.add_column(0.02, Column{{0, -0.04}, {1, -0.02}, {2, 1}});
  lp.add_column(-6, Column{{0, 9}, {1, 3}});
  EXPECT_EQ(lp.solve(10'000), LinearProgram::Status::optimal);
  EXPECT_NEAR(lp.objective(), 0.05, 1e-9);
}

TEST(LinearProgram, SolvesAHandExample) {
  // 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: x = 2, y = 6, value 36, duals 0, 3/2, 1.
  using Column = std::vector<LinearProgram::Entry>;
  LinearProgram lp{{4, 12, 18}};
  lp.add_column(3, Column{{0, 1}, {2, 3}});
  lp.add_column(5, Column{{1, 2}, {2, 2}});
  ASSERT_EQ(lp.solve(100), LinearProgram::Status::optimal);
  EXPECT_NEAR(lp.objective(), 36, 1e-12);
  EXPECT_NEAR(lp.primal(0), 2, 1e-12);
  EXPECT_NEAR(lp.primal(1), 6, 1e-12);
  EXPECT_NEAR(lp.duals()[0], 0, 1e-12);
  EXPECT_NEAR(lp.duals()[1], 1.5, 1e-12);
  EXPECT_NEAR(lp.duals()[2], 1, 1e-12);
}

TEST(LinearProgram, StaysExactOverManyPivotsAndReinversions) {
  // 300 rows, one column each plus columns of pairs: the optimum takes every single, worth 300 * 2;
  // pairs at 3 enter first and have to leave again.
  constexpr std::size_t kRows = 300;
  LinearProgram lp{std::vector<double>(kRows, 1.0)};
  for (std::size_t i = 0; i + 1 < kRows; ++i) {
    lp.add_column(3, std::vector<LinearProgram::Entry>{{i, 1}, {i + 1, 1}});
  }
  ASSERT_EQ(lp.solve(10'000), LinearProgram::Status::optimal);
  EXPECT_NEAR(lp.objective(), 450, kClose);
  for (std::size_t i = 0; i < kRows; ++i)
    lp.add_column(2, std::vector<LinearProgram::Entry>{{i, 1}});
  ASSERT_EQ(lp.solve(10'000), LinearProgram::Status::optimal);
  EXPECT_NEAR(lp.objective(), 600, kClose);
}

TEST(LinearProgram, StopsAtThePivotLimitWithAFeasibleSolution) {
  using Column = std::vector<LinearProgram::Entry>;
  LinearProgram lp{{4, 6}};
  lp.add_column(1, Column{{0, 1}});
  lp.add_column(1, Column{{1, 1}});
  EXPECT_EQ(lp.solve(1), LinearProgram::Status::pivot_limit);
  EXPECT_LE(lp.primal(0), 4);
  EXPECT_LE(lp.primal(1), 6);
  EXPECT_EQ(lp.solve(1), LinearProgram::Status::optimal);
  EXPECT_NEAR(lp.objective(), 10, kClose);
}

}  // namespace
}  // namespace weir::schedule
