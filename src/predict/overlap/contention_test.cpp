// SPDX-License-Identifier: Apache-2.0
#include "predict/overlap/contention.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::predict {
namespace {

constexpr ContendedGpu kNoResidual{.sms = 132, .memory_gbps = 4800, .residual = 0};

TEST(Contention, AFullWaveTakesTwiceAsLongWithOneSmLess) {
  const OverlapKernel kernel{.ms = 1, .blocks = 132};
  EXPECT_EQ(modelled_rate(kNoResidual, kernel, 0, 0), 1);
  EXPECT_EQ(modelled_rate(kNoResidual, kernel, 1, 0), 0.5);
  EXPECT_EQ(modelled_rate(kNoResidual, kernel, 66, 0), 0.5);
}

// 1,000 blocks: 8 waves on 132 SMs and on 125, 9 on 124.
TEST(Contention, AWaveWithRoomLosesNothingAtFirst) {
  const OverlapKernel kernel{.ms = 1, .blocks = 1000};
  EXPECT_EQ(modelled_rate(kNoResidual, kernel, 7, 0), 1);
  EXPECT_EQ(modelled_rate(kNoResidual, kernel, 8, 0), 8.0 / 9);
}

TEST(Contention, ManyWavesLoseInProportion) {
  const OverlapKernel kernel{.ms = 1, .blocks = 132'000, .blocks_per_sm = 4};
  EXPECT_NEAR(modelled_rate(kNoResidual, kernel, 33, 0), 0.75, 1e-12);
  // The same where nothing is known of the blocks.
  EXPECT_NEAR(modelled_rate(kNoResidual, {.ms = 1}, 33, 0), 0.75, 1e-12);
}

TEST(Contention, MemoryIsSharedWithTheCollective) {
  const OverlapKernel kernel{.ms = 1, .blocks = 132, .blocks_per_sm = 2, .memory_gbps = 4500};
  // 200 GB/s on the wire are 500 in memory: 4,300 are left of 4,500 that it wants.
  EXPECT_NEAR(modelled_rate(kNoResidual, kernel, 4, 200), 4300.0 / 4500, 1e-12);
  EXPECT_EQ(modelled_rate(kNoResidual, kernel, 4, 100), 1);
  // And the collective gets what the kernel leaves: 300 of 500.
  EXPECT_NEAR(modelled_collective_share(kNoResidual, kernel, 1, 200), 0.6, 1e-12);
  EXPECT_EQ(modelled_collective_share(kNoResidual, kernel, 1, 100), 1);
}

TEST(Contention, AResidualIsAlwaysLost) {
  EXPECT_DOUBLE_EQ(modelled_rate({}, {.ms = 1, .blocks = 100}, 8, 0), 0.98);
}

TEST(Contention, AMeasuredCurveGivesWhatWasMeasuredAndWhatLiesBetween) {
  const ContentionCurve curve{{{2, -1, 0, 0.96},
                               {2, 50, 48, 0.9},
                               {2, 0, 50, 0.9},
                               {8, -1, 0, 0.8},
                               {8, 50, 50, 0.7},
                               {8, 0, 200, 0.4}}};
  EXPECT_EQ(curve.rate(0, 50), 1);
  EXPECT_DOUBLE_EQ(curve.rate(2, 0), 0.96);
  EXPECT_DOUBLE_EQ(curve.rate(2, 50), 0.9);
  EXPECT_DOUBLE_EQ(curve.rate(2, 25), 0.93);
  EXPECT_DOUBLE_EQ(curve.rate(4, 50), 0.8);
  EXPECT_DOUBLE_EQ(curve.rate(8, 125), 0.55);
  // Beyond what was measured it stays as it was last.
  EXPECT_DOUBLE_EQ(curve.rate(64, 1000), 0.4);
  // No CTAs, one CTA, two CTAs: half way.
  EXPECT_DOUBLE_EQ(curve.rate(1, 50), 0.95);
}

TEST(Contention, ARiseInWhatWasMeasuredIsSmoothedAway) {
  const ContentionCurve curve{{{4, 50, 50, 0.5}, {8, 50, 50, 0.54}, {16, 50, 50, 0.3}}};
  EXPECT_DOUBLE_EQ(curve.rate(4, 50), 0.52);
  EXPECT_DOUBLE_EQ(curve.rate(8, 50), 0.52);
  EXPECT_DOUBLE_EQ(curve.rate(16, 50), 0.3);
}

TEST(Contention, WhatWasHardlySeenToMoveStandsStill) {
  const ContentionCurve curve{{{16, 50, 50, 0.3}, {32, 50, 50, 0.001}, {64, 50, 50, 0.03}}};
  EXPECT_DOUBLE_EQ(curve.rate(16, 50), 0.3);
  // Slow is not still; what rises again is smoothed.
  EXPECT_NEAR(curve.rate(32, 50), 0.025, 1e-6);
  EXPECT_NEAR(curve.rate(64, 50), 0.025, 1e-6);
  const ContentionCurve still{{{16, 50, 50, 0.3}, {32, 50, 50, 0.001}, {64, 50, 50, 0.002}}};
  EXPECT_DOUBLE_EQ(still.rate(32, 50), kStandstill);
  EXPECT_DOUBLE_EQ(still.rate(64, 50), kStandstill);
}

TEST(Contention, ACurveTellsWhoWasThereFirst) {
  const ContentionCurve curve{{{32, 50, 50, 0, CollectivePlace::spread},
                               {16, 50, 50, 0.3, CollectivePlace::spread},
                               {16, 50, 50, 0.9, CollectivePlace::between},
                               {32, 50, 50, 0.8, CollectivePlace::between}}};
  EXPECT_TRUE(curve.knows_places());
  EXPECT_DOUBLE_EQ(curve.rate(16, 50), 0.3);
  EXPECT_DOUBLE_EQ(curve.rate(32, 50, CollectivePlace::spread), kStandstill);
  EXPECT_DOUBLE_EQ(curve.rate(16, 50, CollectivePlace::between), 0.9);
  EXPECT_DOUBLE_EQ(curve.rate(32, 50, CollectivePlace::between), 0.8);
}

TEST(Contention, APlaceThatWasNotMeasuredIsAsTheOther) {
  const ContentionCurve spread{{{16, 50, 50, 0.3, CollectivePlace::spread}}};
  const ContentionCurve between{{{16, 50, 50, 0.9, CollectivePlace::between}}};
  EXPECT_FALSE(spread.knows_places());
  EXPECT_FALSE(between.knows_places());
  for (const auto place : {CollectivePlace::spread, CollectivePlace::between}) {
    EXPECT_DOUBLE_EQ(spread.rate(16, 50, place), 0.3);
    EXPECT_DOUBLE_EQ(between.rate(16, 50, place), 0.9);
  }
}

TEST(Contention, OnlyClustersWithACurveOfBothNeedPlaces) {
  ContentionCurves curves;
  curves.emplace("both", ContentionCurve{{{16, 50, 50, 0.3, CollectivePlace::spread},
                                          {16, 50, 50, 0.9, CollectivePlace::between}}});
  curves.emplace("one", ContentionCurve{{{16, 50, 50, 0.3}}});
  EXPECT_TRUE(needs_places(curves, {.curve = "both", .cluster = 16}));
  EXPECT_FALSE(needs_places(curves, {.curve = "both", .cluster = 1}));
  EXPECT_FALSE(needs_places(curves, {.curve = "one", .cluster = 16}));
  EXPECT_FALSE(needs_places(curves, {.curve = "", .cluster = 16}));
}

TEST(Contention, TheFormulaStandsInForAnUnknownCurve) {
  ContentionCurves curves;
  curves.emplace("gemm", ContentionCurve{{{4, 50, 50, 0.5}}});
  const OverlapKernel known{.ms = 1, .curve = "gemm", .blocks = 100};
  const OverlapKernel unknown{.ms = 1, .curve = "conv", .blocks = 100};
  EXPECT_DOUBLE_EQ(contended_rate({}, curves, known, 4, 50), 0.5);
  EXPECT_DOUBLE_EQ(contended_rate({}, curves, unknown, 4, 50), 0.98);
}

TEST(Contention, BesideMoreCtasThanWereMeasuredTheFormulaMaySayLess) {
  ContentionCurves curves;
  curves.emplace("gemm", ContentionCurve{{{1, 0, 20, 0.99}, {4, 0, 80, 0.97}}});
  const OverlapKernel kernel{.ms = 1, .curve = "gemm"};
  const ContendedGpu gpu;
  EXPECT_DOUBLE_EQ(contended_rate(gpu, curves, kernel, 4, 80), 0.97);
  EXPECT_DOUBLE_EQ(contended_rate(gpu, curves, kernel, 64, 80), 68.0 / 132 * 0.98);
  double before = 1;
  for (const int ctas : {1, 2, 4, 5, 8, 16, 32, 64}) {
    const double rate = contended_rate(gpu, curves, kernel, ctas, 80);
    EXPECT_LE(rate, before) << ctas;
    before = rate;
  }
}

RC_GTEST_PROP(ContentionLaws, TheFormulaNeverRisesWithCtasOrTraffic, ()) {
  const ContendedGpu gpu{.sms = *rc::gen::inRange(2, 200), .memory_gbps = 2000};
  const OverlapKernel kernel{.ms = 1,
                             .curve = {},
                             .blocks = *rc::gen::inRange(0, 3000),
                             .blocks_per_sm = *rc::gen::inRange(1, 5),
                             .memory_gbps = *rc::gen::inRange(0, 2000) * 1.0};
  const int ctas = *rc::gen::inRange(0, most_ctas(gpu));
  const double gbps = *rc::gen::inRange(0, 500);
  const double rate = modelled_rate(gpu, kernel, ctas, gbps);
  RC_ASSERT(rate > 0);
  RC_ASSERT(rate <= 1);
  RC_ASSERT(modelled_rate(gpu, kernel, ctas + 1, gbps) <= rate);
  RC_ASSERT(modelled_rate(gpu, kernel, ctas, gbps + 10) <= rate);
}

RC_GTEST_PROP(ContentionLaws, NoCurveRisesWithCtasOrTraffic, ()) {
  std::vector<MeasuredRate> rows;
  for (const int ctas : {1, 2, 8, 32}) {
    for (const double pace : {-1.0, 25.0, 200.0, 0.0}) {
      if (!rows.empty() && *rc::gen::inRange(0, 5) == 0) continue;
      const double gbps = pace > 0 ? pace : pace == 0 ? ctas * 24.0 : 0;
      for (const auto place : {CollectivePlace::spread, CollectivePlace::between})
        rows.push_back({ctas, pace, gbps, *rc::gen::inRange(0, 110) / 100.0, place});
    }
  }
  const ContentionCurve curve{rows};
  const auto place = *rc::gen::element(CollectivePlace::spread, CollectivePlace::between);
  const std::vector<double> traffic{0, 10, 25, 60, 150, 200, 250, 400, 700, 760, 900};
  std::vector<double> with_fewer(traffic.size(), 1);
  for (const int ctas : {0, 1, 2, 3, 4, 6, 8, 12, 24, 32, 64}) {
    double before = 1;
    for (std::size_t t = 0; t < traffic.size(); ++t) {
      const double rate = curve.rate(ctas, traffic[t], place);
      RC_ASSERT(rate > 0);
      RC_ASSERT(rate <= before + 1e-12);
      RC_ASSERT(rate <= with_fewer[t] + 1e-12);
      before = with_fewer[t] = rate;
    }
  }
}

}  // namespace
}  // namespace weir::predict
