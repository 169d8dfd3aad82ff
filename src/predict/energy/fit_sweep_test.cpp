// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/fit_sweep.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace weir::predict {
namespace {

// What the model says of clocks 1, 0.9, 0.8, ... `noise` alternates in sign.
PowerSweep made_up(double share, double static_share, std::size_t points, double noise = 0) {
  PowerSweep sweep;
  for (std::size_t i = 0; i < points; ++i) {
    const double clock = 1 - 0.1 * static_cast<double>(points - 1 - i);
    const bool is_last = i + 1 == points;
    const double off = is_last ? 1 : 1 + (i % 2 == 0 ? noise : -noise);
    const double limit = 100 + 25 * static_cast<double>(i);
    sweep.points.push_back({limit, 40 * (1 - share + share / clock) * off,
                            250 * (static_share + (1 - static_share) * std::pow(clock, 3)) / off});
  }
  return sweep;
}

TEST(FitSweep, FindsTheSharesAndTheHiddenClocks) {
  const auto fit = fit_sweep(made_up(0.4, 0.35, 7));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->clock_bound_share, 0.4, 1e-3);
  EXPECT_NEAR(fit->static_share, 0.35, 1e-3);
  EXPECT_DOUBLE_EQ(fit->full_watts, 250);
  ASSERT_EQ(fit->clocks.size(), 7U);
  EXPECT_NEAR(fit->clocks[0], 0.4, 1e-3);
  EXPECT_NEAR(fit->clocks[3], 0.7, 1e-3);
  EXPECT_EQ(fit->clocks[6], 1);
  EXPECT_EQ(fit->time.points, 7U);
  EXPECT_LT(fit->power.worst_error, 1e-4);
}

TEST(FitSweep, SaysHowFarItIsOff) {
  const auto fit = fit_sweep(made_up(0.4, 0.35, 7, 0.02));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->clock_bound_share, 0.4, 0.1);
  EXPECT_GT(fit->time.worst_error, 0.001);
  EXPECT_LT(fit->time.worst_error, 0.05);
  EXPECT_GE(fit->power.worst_error, fit->power.mean_error);
}

TEST(FitSweep, NeedsSixPoints) {
  EXPECT_TRUE(fit_sweep(made_up(0.4, 0.35, 6)));
  EXPECT_FALSE(fit_sweep(made_up(0.4, 0.35, 5)));
}

TEST(FitSweep, AJobTheLimitsDoNotTouchHasNoFit) {
  PowerSweep light;
  for (int i = 0; i < 7; ++i) light.points.push_back({100.0 + i, 10, 50 + 0.1 * i});
  EXPECT_TRUE(is_untouched(light));
  EXPECT_FALSE(fit_sweep(light));
  EXPECT_FALSE(is_untouched(made_up(0.4, 0.35, 7)));
}

RC_GTEST_PROP(FitSweep, ExactPointsAreFittedExactly, ()) {
  const double share = *rc::gen::inRange(10, 101) / 100.0;
  const double static_share = *rc::gen::inRange(10, 81) / 100.0;
  const auto fit = fit_sweep(made_up(share, static_share, 7));
  RC_ASSERT(fit.has_value());
  RC_ASSERT(fit->time.worst_error < 2e-3);
  RC_ASSERT(fit->power.worst_error < 2e-3);
  RC_ASSERT(std::abs(fit->clock_bound_share - share) < 0.02);
  RC_ASSERT(std::abs(fit->static_share - static_share) < 0.02);
}

}  // namespace
}  // namespace weir::predict
