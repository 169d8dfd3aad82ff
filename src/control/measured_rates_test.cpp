// SPDX-License-Identifier: Apache-2.0
#include "control/measured_rates.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "control/progress_testing.h"
#include "schedule/training_testing.h"

namespace weir::control {
namespace {

using schedule::testing::a_curve;
using schedule::testing::any_curve;
using schedule::testing::at_second;
using schedule::testing::between;
using schedule::testing::per_second;
using testing::progress;

const MeasuredRates::Key kKey{GpuModelId{1}, {"bert", 32}};

// A run that makes so many iterations per second, for so long.
RunRate run_at(std::int64_t rate, std::int64_t length = 20) {
  RunRate run;
  for (std::int64_t second = 3; second <= 3 + length; ++second)
    run.hear(progress(second * rate, second));
  return run;
}

TEST(RunRate, IsBelievedAfterSomeStepsAndSomeTimeWithoutTheStart) {
  RunRate run;
  EXPECT_FALSE(run.hear(progress(1, 40))) << "the first took long: it loaded its data";
  EXPECT_FALSE(run.hear(progress(30, 44))) << "too soon";
  EXPECT_EQ(run.hear(progress(51, 45)), per_second(10));
  RunRate slow;
  EXPECT_FALSE(slow.hear(progress(1, 1)));
  EXPECT_FALSE(slow.hear(progress(5, 100))) << "four steps";
  EXPECT_EQ(slow.hear(progress(6, 251)), IterationRate{20'000});
}

TEST(RunRate, WhatWasSaidAtNoKnownTimeIsLeftOut) {
  RunRate adopted;  // after a restart of the server
  EXPECT_FALSE(adopted.hear(progress(100, 0)));
  EXPECT_FALSE(adopted.hear(progress(110, 3600)));
  EXPECT_EQ(adopted.hear(progress(160, 3610)), per_second(5));
}

TEST(RunRate, IsOfLate) {
  RunRate run;
  for (std::int64_t second = 1; second <= 600; ++second) run.hear(progress(second * 10, second));
  for (std::int64_t second = 601; second <= 800; ++second)
    run.hear(progress(6000 + (second - 600) * 3, second));
  EXPECT_EQ(run.rate(), per_second(3));
}

TEST(RunRate, AJobThatGoesBackToACheckpointIsMeasuredAnew) {
  RunRate run = run_at(10);
  EXPECT_FALSE(run.hear(progress(5, 30)));
  EXPECT_EQ(run.hear(progress(15, 40)), per_second(1));
}

TEST(RunRate, AnEngineThatDoesNotTellTheTimeIsNotBelieved) {
  RunRate run;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(run.hear(progress(i, 0)));
}

RC_GTEST_PROP(RunRate, ASteadyRunHasItsRateWheneverItReports, ()) {
  const auto rate = between<std::int64_t>(1, 1000);
  RunRate run;
  std::int64_t second = between<std::int64_t>(0, 100);
  for (int i = 0; i < 30; ++i) {
    const auto seen = run.hear(progress(second * rate, second));
    if (seen) RC_ASSERT(*seen == per_second(rate));
    second += between<std::int64_t>(0, 90);
  }
}

TEST(Merged, OtherSizesAreScaledAsTheNearestMeasuredOneAsksFor) {
  const Curve shape = a_curve({{1, 10}, {2, 18}, {4, 30}, {8, 40}});
  const std::vector<CurvePoint> measured{{1, per_second(5)}, {4, per_second(60)}};
  const Curve curve = merged(shape, measured);
  EXPECT_EQ(curve.origin(), CurveOrigin::measured);
  EXPECT_EQ(curve.rate_at(1), per_second(5));
  EXPECT_EQ(curve.rate_at(2), per_second(9)) << "of two that are as near, the smaller";
  EXPECT_EQ(curve.rate_at(4), per_second(60));
  EXPECT_EQ(curve.rate_at(8), per_second(80));
}

TEST(Merged, SizesThatHaveNothingInCommonStayAsTheyAre) {
  const std::vector<CurvePoint> measured{{1, per_second(5)}};
  EXPECT_EQ(merged(a_curve({{2, 18}}), measured).rate_at(2), per_second(18));
  EXPECT_EQ(merged(Curve{}, measured).rate_at(1), per_second(5));
}

RC_GTEST_PROP(Merged, OneMeasuredSizeMovesTheWholeCurve, ()) {
  const Curve shape = any_curve();
  const auto times = between<std::int64_t>(1, 10);
  const CurvePoint seen = shape.measured()[between<std::size_t>(0, shape.measured().size())];
  const std::vector<CurvePoint> measured{{seen.gpus, IterationRate{seen.rate.value * times}}};
  const Curve curve = merged(shape, measured);
  RC_ASSERT(curve.measured().size() == shape.measured().size());
  for (const CurvePoint& point : shape.measured())
    RC_ASSERT(curve.rate_at(point.gpus).value == point.rate.value * times);
}

TEST(CurveWhenStated, OnlyWhatWasNotMeasuredIsBelieved) {
  const Curve known = merged(Curve{}, std::vector<CurvePoint>{{1, per_second(5)}});
  const Curve curve = curve_when_stated(&known, a_curve({{1, 10}, {2, 18}}));
  EXPECT_EQ(curve.origin(), CurveOrigin::measured);
  EXPECT_EQ(curve.rate_at(1), per_second(5));
  EXPECT_EQ(curve.rate_at(2), per_second(9));
  EXPECT_EQ(curve_when_stated(&known, a_curve({{1, 10}})), known);
  EXPECT_EQ(curve_when_stated(nullptr, a_curve({{1, 10}})).rate_at(1), per_second(10));
}

TEST(MeasuredRates, TellsWhatIsNews) {
  MeasuredRates rates;
  const Curve stated = a_curve({{1, 10}, {2, 19}});
  RunRate run = run_at(10);
  const auto first = rates.hear(kKey, 1, run, &stated, at_second(20));
  ASSERT_TRUE(first) << "as stated, but measured";
  EXPECT_EQ(first->origin(), CurveOrigin::measured);
  EXPECT_EQ(first->rate_at(2), per_second(19));
  EXPECT_FALSE(rates.hear(kKey, 1, run, &*first, at_second(100))) << "no news";
  RunRate same = run_at(10);
  EXPECT_TRUE(rates.hear(kKey, 4, same, &*first, at_second(200))) << "a size nobody had seen";
}

TEST(MeasuredRates, TellsNotTooOften) {
  MeasuredRates rates;
  const Curve stated = a_curve({{1, 10}});
  RunRate run = run_at(5);
  EXPECT_TRUE(rates.hear(kKey, 1, run, nullptr, at_second(20)));
  EXPECT_FALSE(rates.hear(kKey, 1, run, &stated, at_second(49)));
  EXPECT_TRUE(rates.hear(kKey, 1, run, &stated, at_second(50)));
  const MeasuredRates::Key other{GpuModelId{2}, kKey.curve};
  EXPECT_TRUE(rates.hear(other, 1, run, &stated, at_second(50))) << "another kind of GPU";
}

TEST(MeasuredRates, RunsAreAveragedAndWhatIsKnownFromBeforeARestartCounts) {
  MeasuredRates rates;
  RunRate run = run_at(10);
  const Curve first = *rates.hear(kKey, 1, run, nullptr, at_second(0));
  RunRate next = run_at(20);
  const Curve second = *rates.hear(kKey, 1, next, &first, at_second(100));
  EXPECT_EQ(second.rate_at(1), per_second(15));
  EXPECT_FALSE(rates.hear(kKey, 1, next, &second, at_second(200))) << "the same run, once";
  MeasuredRates after_restart;
  RunRate third = run_at(5);
  EXPECT_EQ(after_restart.hear(kKey, 1, third, &second, at_second(300))->rate_at(1),
            per_second(10));
}

TEST(MeasuredRates, WhichSizesRanIsKnownOnlyWhenNoneRanBefore) {
  MeasuredRates rates;
  const Curve stated = a_curve({{1, 10}, {2, 19}});
  EXPECT_TRUE(rates.sizes(kKey).empty());
  RunRate run = run_at(10);
  const Curve curve = *rates.hear(kKey, 1, run, &stated, at_second(0));
  RunRate larger = run_at(15);
  rates.hear(kKey, 2, larger, &curve, at_second(100));
  EXPECT_EQ(rates.sizes(kKey), (std::vector<std::int32_t>{1, 2}));
  MeasuredRates after_restart;
  RunRate next = run_at(10);
  after_restart.hear(kKey, 1, next, &curve, at_second(200));
  EXPECT_TRUE(after_restart.sizes(kKey).empty()) << "two had run as well";
}

}  // namespace
}  // namespace weir::control
