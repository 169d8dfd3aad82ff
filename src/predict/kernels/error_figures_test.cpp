// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/error_figures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weir::predict {
namespace {

TEST(ErrorFigures, AreOfTheMeasured) {
  const ErrorFigures figures = error_figures({{1.1, 1}, {1, 2}, {3, 3}});
  EXPECT_EQ(figures.samples, 3);
  EXPECT_NEAR(figures.mean, 0.2, 1e-12);
  EXPECT_NEAR(figures.median, 0.1, 1e-12);
  EXPECT_NEAR(figures.bias, (std::log(1.1) + std::log(0.5)) / 3, 1e-12);
  EXPECT_NEAR(figures.within_10_percent, 1.0 / 3, 0.34);
}

TEST(ErrorFigures, TheMedianOfAnEvenNumberIsBetweenTheMiddleTwo) {
  EXPECT_NEAR(median_and_worst({0.4, 0.1, 0.2, 0.9}).median, 0.3, 1e-12);
  EXPECT_EQ(median_and_worst({0.4, 0.1, 0.2, 0.9}).worst, 0.9);
}

TEST(ErrorFigures, OfNothingAreZero) {
  EXPECT_EQ(error_figures({}), ErrorFigures{});
}

}  // namespace
}  // namespace weir::predict
