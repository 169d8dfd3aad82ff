// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/overlap_step.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

namespace weir::predict {
namespace {

constexpr std::int64_t kStepMegabyte = 1'000'000;
const ContendedGpu kStepGpu{.sms = 132, .memory_gbps = 4800, .residual = 0};
// 1.75 ms for a megabyte at 1 GB/s.
const CollectiveSystem kStepNetwork{
    .ranks = 8, .network_gbps = 17.5, .channel_gbps = 17.5, .latency_us = 0.0};
const OverlapKernel kLoneKernel{.ms = 1, .curve = "plain"};
const OverlapKernel kPairs{.ms = 1, .curve = "pairs", .cluster = 2};
const OverlapKernel kLarge{.ms = 1, .curve = "large", .cluster = 16};

// What clusters of 16 and of 2 lose to 8 and to 32 CTAs, by who was there first.
const ContentionCurves& step_curves() {
  static const ContentionCurves curves{
      {"plain", ContentionCurve{{{8, 0, 17.5, 1}, {32, 0, 17.5, 1}}}},
      {"pairs", ContentionCurve{{{8, 0, 17.5, 0.8, CollectivePlace::spread},
                                 {32, 0, 17.5, 0.5, CollectivePlace::spread},
                                 {8, 0, 17.5, 1, CollectivePlace::between},
                                 {32, 0, 17.5, 0.625, CollectivePlace::between}}}},
      {"large", ContentionCurve{{{8, 0, 17.5, 0.25, CollectivePlace::spread},
                                 {32, 0, 17.5, 0, CollectivePlace::spread},
                                 {8, 0, 17.5, 1, CollectivePlace::between},
                                 {32, 0, 17.5, 0.5, CollectivePlace::between}}}}};
  return curves;
}

OverlapStep step_of(const std::vector<OverlapKernel>& kernels,
                    const std::vector<GroupAfterKernels>& groups, int ctas) {
  return make_overlap_step(kStepGpu, step_curves(), kStepNetwork, kernels, groups, {ctas});
}

TEST(OverlapStep, ClustersWithoutAPlaceWaitForTheEndOfTheCollective) {
  // 30 MB take 3 ms and hold 32 SMs from 1 ms on: one more plain kernel, then nothing until 4 ms.
  const OverlapStep step =
      step_of({kLoneKernel, kLoneKernel, kLarge}, {{1, 30 * kStepMegabyte}}, 32);
  const OverlapRun run = step.run(all_alike(step, 0));
  EXPECT_NEAR(run.collectives[0].end_ms, 4, 1e-5);
  EXPECT_NEAR(run.step_ms, 5, 1e-5);
}

TEST(OverlapStep, ACollectiveThatComesWhileClustersRunLeavesThemPlaces) {
  // The second starts when the clusters have got their places after the first.
  const OverlapStep step = step_of({kLoneKernel, kLoneKernel, kLarge, kLarge},
                                   {{1, 30 * kStepMegabyte}, {1, 60 * kStepMegabyte}}, 32);
  const OverlapRun run = step.run(all_alike(step, 0));
  EXPECT_NEAR(run.collectives[1].start_ms, 4, 1e-5);
  EXPECT_NEAR(run.computed_ms, 4 + 2 * 2, 1e-4);
  EXPECT_NEAR(run.step_ms, 10, 1e-4);
}

TEST(OverlapStep, LargerClustersGainNothingFromACollectiveBetweenSmallerOnes) {
  // It comes while clusters of 2 run, which keep their places; those of 16 find none.
  const OverlapStep step = step_of({kLoneKernel, kPairs, kLarge}, {{1, 30 * kStepMegabyte}}, 32);
  EXPECT_NEAR(step.run(all_alike(step, 0)).step_ms, 5, 1e-5);
  const OverlapStep pairs = step_of({kLoneKernel, kPairs}, {{1, 30 * kStepMegabyte}}, 32);
  EXPECT_NEAR(pairs.run(all_alike(pairs, 0)).computed_ms, 1 + 1 / 0.625, 1e-9);
}

TEST(OverlapStep, OfAKernelWhoseClustersNobodyToldTheWorseIsTaken) {
  const OverlapKernel untold{.ms = 1, .curve = "large"};
  const OverlapStep step =
      step_of({kLoneKernel, kLoneKernel, untold}, {{1, 30 * kStepMegabyte}}, 32);
  EXPECT_NEAR(step.run(all_alike(step, 0)).step_ms, 5, 1e-5);
}

TEST(OverlapStep, SmallerClustersGainFromACollectiveBetweenLargerOnes) {
  const OverlapStep step = step_of({kLoneKernel, kLarge, kPairs}, {{1, 60 * kStepMegabyte}}, 32);
  EXPECT_NEAR(step.run(all_alike(step, 0)).computed_ms, 1 + 2 + 1 / 0.625, 1e-9);
}

TEST(OverlapStep, WhereNoCurveKnowsPlacesThereIsOneKindOfStart) {
  const OverlapStep step = make_overlap_step(kStepGpu, {}, kStepNetwork, {kLoneKernel, kLarge},
                                             {{1, 30 * kStepMegabyte}}, {32});
  EXPECT_EQ(step.timeline().starts(), 1U);
  EXPECT_EQ(step_of({kPairs, kLarge}, {{1, 1}}, 32).timeline().starts(), 3U);
}

TEST(OverlapStep, ASmallCollectiveSlowsKernelsDownByTheChannelsItUses) {
  // Many waves lose in proportion to the SMs that are held.
  const OverlapKernel waves{.ms = 10, .blocks = 1'320'000};
  const CollectiveSystem slow{
      .ranks = 2, .network_gbps = 1, .channel_gbps = 1, .latency_us = 1000.0};
  const auto loss = [&](std::int64_t bytes) {
    const OverlapStep step =
        make_overlap_step(kStepGpu, {}, slow, {kLoneKernel, waves}, {{1, bytes}}, {33});
    const OverlapRun run = step.run(all_alike(step, 0));
    return (run.step_ms - 11) / (run.collectives[0].end_ms - run.collectives[0].start_ms);
  };
  EXPECT_NEAR(loss(1 << 10), 1.0 / 132, 1e-9);
  EXPECT_NEAR(loss(4 << 15), 4.0 / 132, 1e-9);
  EXPECT_NEAR(loss(33 << 15), 33.0 / 132, 1e-9);
  EXPECT_NEAR(loss(100 << 15), 33.0 / 132, 1e-9);
}

TEST(OverlapStep, SmallAndLargeCollectivesOfOneStepEachSlowDownByTheirOwn) {
  const OverlapKernel waves{.ms = 10, .blocks = 1'320'000};
  const CollectiveSystem slow{
      .ranks = 2, .network_gbps = 1, .channel_gbps = 1, .latency_us = 1000.0};
  const OverlapStep step = make_overlap_step(kStepGpu, {}, slow, {kLoneKernel, waves, waves},
                                             {{1, 4 << 15}, {2, 100 << 15}}, {2, 33});
  const OverlapRun run = step.run(all_alike(step, 1));
  const auto lasts = [&](std::size_t at) {
    return run.collectives[at].end_ms - run.collectives[at].start_ms;
  };
  EXPECT_NEAR(run.step_ms, 21 + lasts(0) * 4 / 132 + lasts(1) * 33 / 132, 1e-9);
}

TEST(OverlapStep, SmallGroupsSentTogetherSlowDownNoLessThanTheyWould) {
  const OverlapKernel waves{.ms = 10, .blocks = 1'320'000};
  // Two of 4 channels each are one of 8, which no group uses alone: as with 33.
  const OverlapStep step = make_overlap_step(kStepGpu, {}, kStepNetwork, {kLoneKernel, waves},
                                             {{1, 4 << 15}, {1, 4 << 15}}, {2, 33});
  EXPECT_EQ(step.timeline().choices(), 3U);  // 2, 4 and 33
  EXPECT_EQ(step.slows_like(4 << 15, 0), 0U);
  EXPECT_EQ(step.slows_like(4 << 15, 1), 1U);
  EXPECT_EQ(step.slows_like(8 << 15, 1), 2U);
}

// From one end of a kernel or collective to the next, without sums over prefixes.
double from_event_to_event(const std::vector<OverlapKernel>& kernels,
                           const std::vector<GroupAfterKernels>& groups, int ctas) {
  std::size_t kernel = 0;
  std::size_t sent = 0;
  double work = kernels[0].ms;  // left of the kernel
  double sending = 0;           // left of the collective
  int running = 1;              // size of the clusters that ran when the collective came
  double now = 0;
  while (kernel < kernels.size() || sent < groups.size() || sending > 0) {
    if (sending <= 0 && sent < groups.size() && kernel >= groups[sent].kernels) {
      sending = collective_ms(kStepNetwork, groups[sent++].bytes, ctas);
      running = kernels[std::min(kernel, kernels.size() - 1)].cluster;
    }
    double rate = 1;
    if (sending > 0 && kernel < kernels.size()) {
      const auto place =
          kernels[kernel].cluster <= running ? CollectivePlace::between : CollectivePlace::spread;
      rate = contended_rate(kStepGpu, step_curves(), kernels[kernel], ctas, 17.5, place);
    }
    const bool ends_kernel = kernel < kernels.size() && (sending <= 0 || work / rate <= sending);
    const double passed = ends_kernel ? work / rate : sending;
    now += passed;
    sending -= sending > 0 ? passed : 0;
    work -= passed * rate;
    if (ends_kernel && ++kernel < kernels.size()) work = kernels[kernel].ms;
  }
  return now;
}

RC_GTEST_PROP(OverlapStepLaws, AgreesWithGoingFromEventToEvent, ()) {
  std::vector<OverlapKernel> kernels;
  std::vector<GroupAfterKernels> groups;
  const int count = *rc::gen::inRange(1, 8);
  for (int k = 0; k < count; ++k) {
    kernels.push_back(*rc::gen::element(kLoneKernel, kPairs, kLarge));
    kernels.back().ms = *rc::gen::inRange(100'000, 3'000'000) / 1e6;
    if (*rc::gen::inRange(0, 2) == 0)
      groups.push_back(
          {kernels.size(), *rc::gen::inRange<std::int64_t>(3 * kStepMegabyte, 60 * kStepMegabyte)});
  }
  const int ctas = *rc::gen::element(4, 8, 32);
  const OverlapStep step = step_of(kernels, groups, ctas);
  const double plain = from_event_to_event(kernels, groups, ctas);
  RC_ASSERT(std::abs(step.step_ms(all_alike(step, 0)) - plain) < 1e-6);
}

}  // namespace
}  // namespace weir::predict
