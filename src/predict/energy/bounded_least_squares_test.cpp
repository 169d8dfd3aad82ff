// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/bounded_least_squares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace weir::predict {
namespace {

TEST(BoundedLeastSquares, FindsTheBottomOfACurvedValley) {
  // Rosenbrock's function, from its usual start: least at (1, 1).
  const Residuals residuals = [](std::span<const double> at, std::span<double> r) {
    r[0] = 10 * (at[1] - at[0] * at[0]);
    r[1] = 1 - at[0];
  };
  const std::vector<BoundedValue> values{{-1.2, -5, 5}, {1, -5, 5}};
  const LeastSquares found = bounded_least_squares(residuals, 2, values);
  EXPECT_NEAR(found.values[0], 1, 1e-6);
  EXPECT_NEAR(found.values[1], 1, 1e-6);
  EXPECT_LT(found.sum_of_squares, 1e-12);
}

TEST(BoundedLeastSquares, EndsOnTheSideThatHoldsItBack) {
  // A line through (1, 1), (2, 3), (3, 5) is 2x - 1. One that starts at 0 or above goes through 0
  // and rises by sum(xy) / sum(xx) = 22/14.
  const Residuals residuals = [](std::span<const double> at, std::span<double> r) {
    for (std::size_t i = 0; i < 3; ++i) {
      const double x = static_cast<double>(i) + 1;
      r[i] = at[0] + at[1] * x - (2 * x - 1);
    }
  };
  const std::vector<BoundedValue> values{{0.5, 0, 10}, {0.5, 0, 10}};
  const LeastSquares found = bounded_least_squares(residuals, 3, values);
  EXPECT_EQ(found.values[0], 0);
  EXPECT_NEAR(found.values[1], 22.0 / 14, 1e-7);
}

TEST(BoundedLeastSquares, AValueThatChangesNothingStaysWhereItIs) {
  const Residuals residuals = [](std::span<const double> at, std::span<double> r) {
    r[0] = at[0] - 2;
  };
  const std::vector<BoundedValue> values{{1, 0, 10}, {0.3, 0, 1}};
  const LeastSquares found = bounded_least_squares(residuals, 1, values);
  EXPECT_NEAR(found.values[0], 2, 1e-7);
  EXPECT_EQ(found.values[1], 0.3);
}

// Against a fine grid: two values, linear residuals, any box.
RC_GTEST_PROP(BoundedLeastSquares, IsNoWorseThanAnyPointOfAGrid, ()) {
  std::vector<double> numbers;
  for (int i = 0; i < 12; ++i)
    numbers.push_back(*rc::gen::resize(rc::kNominalSize, rc::gen::inRange(-100, 101)) / 20.0);
  const Residuals residuals = [&](std::span<const double> at, std::span<double> r) {
    for (std::size_t i = 0; i < 4; ++i)
      r[i] = numbers[3 * i] * at[0] + numbers[3 * i + 1] * at[1] - numbers[3 * i + 2];
  };
  const std::vector<BoundedValue> values{{0.5, 0, 1}, {0.5, 0, 1}};
  const LeastSquares found = bounded_least_squares(residuals, 4, values);
  std::vector<double> r(4);
  for (int i = 0; i <= 20; ++i) {
    for (int j = 0; j <= 20; ++j) {
      const std::vector<double> at{i / 20.0, j / 20.0};
      residuals(at, r);
      double cost = 0;
      for (const double one : r) cost += one * one;
      RC_ASSERT(found.sum_of_squares <= cost * (1 + 1e-6) + 1e-9);
    }
  }
}

}  // namespace
}  // namespace weir::predict
