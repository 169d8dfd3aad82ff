// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/sigmoid_scale.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace weir::schedule {
namespace {

int score_in_floating_point(double gain_milli) {
  return static_cast<int>(std::floor(100.0 / (1.0 + std::exp(-gain_milli / 1000.0))));
}

TEST(SigmoidScale, ScoresTheWorkedExample) {
  const SigmoidScale scale{10};
  EXPECT_EQ(scale.score(0), 50);
  EXPECT_EQ(scale.score(10 * 300), 57);
  EXPECT_EQ(scale.score(10 * -150), 46);
}

TEST(SigmoidScale, OnePointIsFortyMilliGpuNearZero) {
  const SigmoidScale scale{1000};
  EXPECT_EQ(scale.score(1000 * 39), 50);
  EXPECT_EQ(scale.score(1000 * 41), 51);
  EXPECT_EQ(scale.score(-1), 49);
}

TEST(SigmoidScale, StaysWithinItsRange) {
  const SigmoidScale scale{7};
  EXPECT_EQ(scale.score(7 * 16'000), 99);
  EXPECT_EQ(scale.score(7 * -16'000), 0);
}

TEST(SigmoidScale, WithoutAnyExpectationAllNodesAreEqual) {
  const SigmoidScale scale{0};
  EXPECT_EQ(scale.score(0), 50);
}

RC_GTEST_PROP(SigmoidScale, EqualsTheFormulaAwayFromTheSteps, ()) {
  const auto weight = *rc::gen::inRange<std::int64_t>(1, 10'000'000);
  const auto gain = *rc::gen::inRange<std::int64_t>(-9000, 9000);
  const double exact = 100.0 / (1.0 + std::exp(-static_cast<double>(gain) / 1000.0));
  RC_PRE(gain == 0 || std::abs(exact - std::round(exact)) > 1e-6);
  RC_ASSERT(SigmoidScale{weight}.score(weight * gain) ==
            score_in_floating_point(static_cast<double>(gain)));
}

RC_GTEST_PROP(SigmoidScale, MoreGainNeverScoresLess, ()) {
  const SigmoidScale scale{*rc::gen::inRange<std::int64_t>(1, 100'000)};
  const auto gain = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  const auto more = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  RC_ASSERT(scale.score(gain + more) >= scale.score(gain));
}

}  // namespace
}  // namespace weir::schedule
