// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/error_figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

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

TEST(ErrorFigures, NineOfTenAreAtMostTheP90) {
  EXPECT_NEAR(error_figures({{1.1, 1}, {1.2, 1}, {1.9, 1}}).p90, 0.9, 1e-12);  // not the median
  EXPECT_NEAR(error_figures({{1.3, 1}}).p90, 0.3, 1e-12);
  for (std::size_t samples = 1; samples <= 40; ++samples) {
    std::vector<PredictedTime> times;
    for (std::size_t i = 0; i < samples; ++i) times.push_back({2 + static_cast<double>(i), 1});
    const double p90 = error_figures(times).p90;  // errors are 1, 2, 3, ...
    EXPECT_GE(10 * p90, 9.0 * static_cast<double>(samples)) << samples;
    EXPECT_LT(10 * (p90 - 1), 9.0 * static_cast<double>(samples)) << samples;
  }
}

TEST(ErrorFigures, ACoveringValueIsTheLeastThatCovers) {
  EXPECT_EQ(covering_value({1, 2, 3}, 95), 3);
  EXPECT_EQ(covering_value({1, 2, 3, 4}, 50), 2);
  EXPECT_EQ(covering_value({1, 2, 3, 4}, 51), 3);
  EXPECT_EQ(covering_value({1, 2, 3, 4}, 100), 4);
  EXPECT_EQ(covering_value({7}, 1), 7);
}

TEST(ErrorFigures, OfNothingAreZero) {
  EXPECT_EQ(error_figures({}), ErrorFigures{});
}

}  // namespace
}  // namespace weir::predict
