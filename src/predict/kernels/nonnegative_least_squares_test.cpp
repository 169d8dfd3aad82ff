// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/nonnegative_least_squares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "domain/seeded_rng.h"

namespace weir::predict {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(NonnegativeLeastSquaresGolden, FindsTheCoefficientsOfAnExactSum) {
  NonnegativeLeastSquares squares{3};
  for (const auto& row :
       {std::array{1.0, 2.0, 0.0}, {1.0, 5.0, 1.0}, {1.0, 3.0, 4.0}, {1.0, 9.0, 2.0}})
    squares.add(row, 2 * row[0] + 3 * row[1] + 0.5 * row[2], 1);
  EXPECT_THAT(squares.solve(),
              ElementsAre(DoubleNear(2, 1e-6), DoubleNear(3, 1e-6), DoubleNear(0.5, 1e-6)));
}

TEST(NonnegativeLeastSquaresGolden, StaysAtZeroWhereLessWouldBeBetter) {
  NonnegativeLeastSquares squares{2};
  squares.add(std::array{1.0, 1.0}, 5, 1);
  squares.add(std::array{1.0, 2.0}, 3, 1);  // falls with the second column
  EXPECT_THAT(squares.solve(), ElementsAre(DoubleNear(4, 1e-9), 0));
}

TEST(NonnegativeLeastSquaresGolden, AColumnOfZerosGetsZero) {
  NonnegativeLeastSquares squares{2};
  squares.add(std::array{2.0, 0.0}, 6, 1);
  EXPECT_THAT(squares.solve(), ElementsAre(DoubleNear(3, 1e-12), 0));
}

TEST(NonnegativeLeastSquaresGolden, WeightsSayWhichRowCounts) {
  NonnegativeLeastSquares squares{1};
  squares.add(std::array{1.0}, 10, 3);
  squares.add(std::array{1.0}, 20, 1);
  EXPECT_NEAR(squares.solve()[0], (9.0 * 10 + 20) / 10, 1e-9);
}

struct RandomProblem {
  std::vector<std::array<double, 4>> rows;
  std::vector<double> targets;
};

RandomProblem problem_of(std::uint64_t seed) {
  SeededRng rng{seed};
  RandomProblem problem;
  const std::uint64_t count = 6 + rng.below(30);
  for (std::uint64_t i = 0; i < count; ++i) {
    problem.rows.push_back({1, rng.lognormal(0, 2), rng.lognormal(3, 1), rng.uniform()});
    problem.targets.push_back(rng.lognormal(1, 1));
  }
  return problem;
}

NonnegativeLeastSquares squares_of(const RandomProblem& problem, int times, double scale) {
  NonnegativeLeastSquares squares{4};
  for (int time = 0; time < times; ++time)
    for (std::size_t i = 0; i < problem.rows.size(); ++i)
      squares.add(problem.rows[i], problem.targets[i], scale / problem.targets[i]);
  return squares;
}

RC_GTEST_PROP(NonnegativeLeastSquares, IsNeverNegativeAndAtTheOptimum, (std::uint64_t seed)) {
  const auto squares = squares_of(problem_of(seed), 1, 1);
  const auto values = squares.solve();
  for (const double value : values) RC_ASSERT(value >= 0);
  RC_ASSERT(squares.optimality_gap(values) < 1e-6);
}

// Columns so much alike that descent is not there after all its sweeps.
TEST(NonnegativeLeastSquaresGolden, FinishesWhereColumnsAreNearlyAlike) {
  const auto squares = squares_of(problem_of(92265532616599), 1, 1);
  EXPECT_LT(squares.optimality_gap(squares.solve()), 1e-9);
}

RC_GTEST_PROP(NonnegativeLeastSquares, NeitherCopiesOfTheDataNorTheUnitOfWeightsMatter,
              (std::uint64_t seed)) {
  const RandomProblem problem = problem_of(seed);
  const auto once = squares_of(problem, 1, 1).solve();
  const auto other = squares_of(problem, 2, 7).solve();
  for (std::size_t i = 0; i < once.size(); ++i)
    RC_ASSERT(std::abs(once[i] - other[i]) <= 1e-5 * std::max(once[i], 1e-3));
}

}  // namespace
}  // namespace weir::predict
