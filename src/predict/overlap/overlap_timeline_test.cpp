// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/overlap_timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir::predict {
namespace {

TEST(OverlapTimeline, AdvancesThroughKernelsAtTheirOwnRates) {
  // 2 ms at half speed take 4; the collective goes at full speed, then at half.
  const OverlapTimeline timeline{{2, 3}, {{{0.5, 1}, {1, 0.5}}}};
  EXPECT_EQ(timeline.total(), 5);
  EXPECT_EQ(timeline.advance({10, 0}, 1, 0), (StepMoment{11, 0.5}));
  EXPECT_EQ(timeline.advance({10, 0}, 4, 0), (StepMoment{14, 2}));
  // 4 ms of the collective, then 1 ms of it in 2.
  EXPECT_EQ(timeline.advance({10, 0}, 5, 0), (StepMoment{16, 4}));
  // Computing ends after 4 + 3 ms with 5.5 ms sent; what is left is sent alone.
  EXPECT_EQ(timeline.advance({10, 0}, 7, 0), (StepMoment{18.5, 5}));
  EXPECT_EQ(timeline.ms_to_finish(0, 0), 7);
  EXPECT_EQ(timeline.ms_to_finish(3, 0), 2);
}

TEST(OverlapTimeline, WaitingComputesAtFullSpeed) {
  EXPECT_EQ(OverlapTimeline::wait_for({10, 1}, 3), (StepMoment{12, 3}));
  EXPECT_EQ(OverlapTimeline::wait_for({10, 4}, 3), (StepMoment{10, 4}));
}

TEST(OverlapTimeline, KernelsWithoutTimeAreNoTrouble) {
  const OverlapTimeline timeline{{0, 1, 0, 0, 1, 0},
                                 {{{1, 1, 0.5, 1, 0.5, 1}, {1, 1, 1, 1, 1, 1}}}};
  EXPECT_EQ(timeline.advance({0, 0}, 1, 0), (StepMoment{1, 1}));
  EXPECT_EQ(timeline.advance({0, 1}, 1, 0), (StepMoment{1, 1.5}));
  EXPECT_EQ(timeline.advance({0, 2}, 1, 0), (StepMoment{1, 2}));
  const OverlapTimeline nothing{{}, {{{}, {}}}};
  EXPECT_EQ(nothing.advance({0, 0}, 1, 0), (StepMoment{1, 0}));
}

TEST(OverlapTimeline, TheKernelThatRunsAtTheStartDecidesHowTheCollectiveLies) {
  // Beside a collective that starts during the first kernel the second hardly moves; beside one that starts during
  // the second, it runs at half speed.
  const OverlapTimeline timeline{{2, 3}, {{{{1, 1e-6}, {1, 1}}}, {{{1, 0.5}, {1, 1}}}}, {0, 1}};
  EXPECT_EQ(timeline.choices(), 1U);
  EXPECT_EQ(timeline.starts(), 2U);
  const StepMoment stood = timeline.advance({0, 1}, 5, 0);
  EXPECT_EQ(stood.time_ms, 5);
  EXPECT_NEAR(stood.work_ms, 2, 1e-5);
  EXPECT_GT(stood.work_ms, 2);
  const StepMoment went_on = timeline.advance(stood, 4, 0);
  EXPECT_EQ(went_on.time_ms, 9);
  EXPECT_NEAR(went_on.work_ms, 4, 1e-5);
  EXPECT_NEAR(timeline.ms_to_finish(2.5, 0), 5, 1e-9);
  // At the border it is the kernel that is about to run.
  EXPECT_EQ(timeline.advance({0, 2}, 4, 0), (StepMoment{4, 4}));
}

// Kernel by kernel, without sums over prefixes.
StepMoment slowly(const std::vector<double>& kernels, const SharedRates& rates, StepMoment at,
                  double left, double& integral) {
  double begin = 0;
  for (std::size_t k = 0; k < kernels.size() && left > 0; ++k) {
    const double end = begin + kernels[k];
    if (at.work_ms < end) {
      const double wall =
          std::min((end - at.work_ms) / rates.compute[k], left / rates.collective[k]);
      at.time_ms += wall;
      at.work_ms = std::min(end, at.work_ms + wall * rates.compute[k]);
      integral += wall * rates.compute[k];
      left -= wall * rates.collective[k];
    }
    begin = end;
  }
  at.time_ms += std::max(0.0, left);
  return at;
}

struct RandomTimeline {
  std::vector<double> kernels;
  SharedRates rates;
};

RandomTimeline random_timeline() {
  RandomTimeline made;
  const int count = *rc::gen::inRange(1, 12);
  for (int k = 0; k < count; ++k) {
    made.kernels.push_back(*rc::gen::inRange(0, 50) / 10.0);
    made.rates.compute.push_back(*rc::gen::inRange(1, 11) / 10.0);
    made.rates.collective.push_back(*rc::gen::inRange(1, 11) / 10.0);
  }
  return made;
}

RC_GTEST_PROP(OverlapTimelineLaws, WorkIsTheIntegralOfTheRateAndTheCollectiveGetsItsTime, ()) {
  const RandomTimeline made = random_timeline();
  const OverlapTimeline timeline{made.kernels, {made.rates}};
  const double from = timeline.total() * *rc::gen::inRange(0, 101) / 100.0;
  const double alone = *rc::gen::inRange(0, 400) / 10.0;
  double integral = 0;
  const StepMoment plain = slowly(made.kernels, made.rates, {3, from}, alone, integral);
  const StepMoment fast = timeline.advance({3, from}, alone, 0);
  RC_ASSERT(std::abs(fast.time_ms - plain.time_ms) < 1e-9);
  RC_ASSERT(std::abs(fast.work_ms - plain.work_ms) < 1e-9);
  RC_ASSERT(std::abs(fast.work_ms - from - integral) < 1e-9);
  RC_ASSERT(fast.work_ms <= timeline.total());
  RC_ASSERT(fast.time_ms >= 3 + alone - 1e-9);
}

RC_GTEST_PROP(OverlapTimelineLaws, TwoCollectivesAreOneOfBothTimes, ()) {
  const RandomTimeline made = random_timeline();
  const OverlapTimeline timeline{made.kernels, {made.rates}};
  const double first = *rc::gen::inRange(0, 200) / 10.0;
  const double second = *rc::gen::inRange(0, 200) / 10.0;
  const StepMoment once = timeline.advance({}, first + second, 0);
  const StepMoment twice = timeline.advance(timeline.advance({}, first, 0), second, 0);
  RC_ASSERT(std::abs(once.time_ms - twice.time_ms) < 1e-9);
  RC_ASSERT(std::abs(once.work_ms - twice.work_ms) < 1e-9);
}

}  // namespace
}  // namespace weir::predict
