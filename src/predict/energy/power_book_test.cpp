// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/power_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::predict {
namespace {

using testing::ElementsAre;

Curve curve(std::vector<CurvePoint> points) {
  return Curve{std::move(points)};
}
CurvePoint rate(std::int32_t gpus, double iterations_per_second) {
  return {gpus, IterationRate{static_cast<std::int64_t>(iterations_per_second * 1e6)}};
}

// Two batches of one model: 1-GPU times 0.2 s and 0.3 s, so T = 0.1 + b/640.
CurveBook two_batches() {
  CurveBook book{"A100", {}};
  book.curves[{"net", 64}] = curve({rate(1, 5), rate(2, 6.25)});
  book.curves[{"net", 128}] = curve({rate(1, 10.0 / 3)});
  return book;
}

TEST(EvenClocks, GoFromTheLowestToTheHighest) {
  EXPECT_THAT(even_clocks(500, 8), ElementsAre(500, 571, 643, 714, 786, 857, 929, 1000));
  EXPECT_THAT(even_clocks(600, 2), ElementsAre(600, 1000));
}

TEST(PowerBook, SplitsTimesByALineOverTheBatches) {
  const auto splits = split_iterations(two_batches(), {"net", 64});
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_NEAR(splits[0].fixed_seconds, 0.1, 1e-6);
  EXPECT_NEAR(splits[0].batch_seconds, 0.1, 1e-6);
  EXPECT_EQ(splits[0].sync_seconds, 0);
  // On two GPUs 0.1 + 32/640 = 0.15 s of the measured 0.16 s.
  EXPECT_NEAR(splits[1].fixed_seconds, 0.1, 1e-6);
  EXPECT_NEAR(splits[1].batch_seconds, 0.05, 1e-6);
  EXPECT_NEAR(splits[1].sync_seconds, 0.01, 1e-6);
  EXPECT_TRUE(split_iterations(two_batches(), {"net", 1}).empty());
}

TEST(PowerBook, OneBatchAloneHasNoFixedPart) {
  CurveBook book;
  book.curves[{"net", 64}] = curve({rate(1, 5), rate(2, 8)});
  const auto splits = split_iterations(book, {"net", 64});
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[0].fixed_seconds, 0);
  EXPECT_NEAR(splits[1].batch_seconds, 0.1, 1e-9);
  EXPECT_NEAR(splits[1].sync_seconds, 0.025, 1e-9);
}

TEST(PowerBook, ComputeIsAtMostTheMeasuredTime) {
  CurveBook book;
  book.curves[{"net", 64}] = curve({rate(1, 5), rate(2, 20)});  // faster than twice
  const auto splits = split_iterations(book, {"net", 64});
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_NEAR(splits[1].batch_seconds, 0.05, 1e-9);
  EXPECT_EQ(splits[1].sync_seconds, 0);
}

TEST(PowerBook, TimesThatFallWithTheBatchAreAllFixed) {
  CurveBook book;
  book.curves[{"net", 64}] = curve({rate(1, 4)});
  book.curves[{"net", 128}] = curve({rate(1, 5)});
  const auto splits = split_iterations(book, {"net", 128});
  ASSERT_EQ(splits.size(), 1U);
  EXPECT_NEAR(splits[0].fixed_seconds, 0.2, 1e-9);  // the mean 0.225 s, but no more than measured
}

TEST(PowerBook, HasTheHandCalculatedPoints) {
  PowerAssumptions assumptions;
  assumptions.clocks_permille = {800};
  const PowerBook book = power_book(two_batches(), assumptions);
  EXPECT_EQ(book.gpu, "A100");
  EXPECT_EQ(book.idle_milliwatts, 55'000);
  EXPECT_EQ(book.node_milliwatts, 800'000);
  EXPECT_EQ(book.overhead_permille, 1000);
  const PowerTable* table = book.find({"net", 64});
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->size(), 4U);
  // One GPU at 0.8: 0.1 + 0.1 (0.6 + 0.4/0.8) = 0.21 s; 140 + 260 0.512 = 273.12 W.
  EXPECT_EQ((*table)[0].gpus, 1);
  EXPECT_EQ((*table)[0].clock_permille, 800);
  EXPECT_NEAR(static_cast<double>((*table)[0].rate.value), 1e6 / 0.21, 20);
  EXPECT_EQ((*table)[0].milliwatts, 273'120);
  EXPECT_EQ((*table)[1], (PowerPoint{1, 1000, IterationRate{5'000'000}, 400'000}));
  // Two at the full clock: 0.15 s of 400 W and 0.01 s of 218 W in 0.16 s, twice.
  EXPECT_EQ((*table)[3].gpus, 2);
  EXPECT_EQ((*table)[3].rate, IterationRate{6'250'000});
  EXPECT_NEAR(static_cast<double>((*table)[3].milliwatts), 2e3 * (400 * 0.15 + 218 * 0.01) / 0.16,
              20);
}

TEST(PowerBook, LeavesOutClocksBelowTheOneWithTheLeastEnergy) {
  PowerAssumptions assumptions;
  assumptions.clock_bound_share = 1;
  assumptions.clocks_permille = {100, 300, 500, 700, 900};
  CurveBook curves;
  curves.curves[{"net", 64}] = curve({rate(1, 5)});
  // Energy per iteration at clock x: (0.35 + 0.65 x^3)/x, least at x = (0.35/1.3)^(1/3) = 0.646.
  const PowerBook book = power_book(curves, assumptions);
  const PowerTable* table = book.find({"net", 64});
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->size(), 3U);
  EXPECT_EQ((*table)[0].clock_permille, 700);
  // With 100 W of node for the GPU the least moves up to ((140 + 100)/520)^(1/3) = 0.77; of 700
  // and 900, 700 takes 329.2/0.7 = 470 J and 900 takes 429.5/0.9 = 477.
  assumptions.counts_node_share = true;
  EXPECT_EQ(power_book(curves, assumptions).find({"net", 64})->front().clock_permille, 700);
  assumptions.node_milliwatts = 1'600'000;  // 200 W a GPU: 613 against 588
  EXPECT_EQ(power_book(curves, assumptions).find({"net", 64})->front().clock_permille, 900);
}

TEST(PowerBook, AJobThatDoesNotFitOnOneGpuIsSplitAtItsLeastSize) {
  CurveBook book;
  book.curves[{"net", 64}] = curve({rate(4, 5), rate(8, 9)});
  const auto splits = split_iterations(book, {"net", 64});
  ASSERT_EQ(splits.size(), 2U);
  EXPECT_EQ(splits[0].sync_seconds, 0);
  EXPECT_NEAR(splits[1].batch_seconds, 0.1, 1e-9);
}

CurveBook any_book() {
  CurveBook book{"X", {}};
  const int batches = *rc::gen::inRange(1, 4);
  for (int i = 0; i < batches; ++i) {
    std::vector<CurvePoint> points;
    for (std::int32_t gpus = 1; gpus <= 64; gpus *= 2) {
      const auto any_rate = rc::gen::inRange<std::int64_t>(0, 100'000'000);
      points.push_back({gpus, IterationRate{*rc::gen::resize(rc::kNominalSize, any_rate)}});
    }
    if (Curve any{points}; !any.empty()) book.curves[{"net", 32 << i}] = any;
  }
  return book;
}

RC_GTEST_PROP(PowerBook, KeepsTheCurveAtTheFullClockAndFallsBelowIt, ()) {
  const CurveBook curves = any_book();
  PowerAssumptions assumptions;
  assumptions.clock_bound_share = *rc::gen::inRange(0, 101) / 100.0;
  assumptions.counts_node_share = *rc::gen::arbitrary<bool>();
  const PowerBook book = power_book(curves, assumptions);
  RC_ASSERT(book == power_book(curves, assumptions));
  RC_ASSERT(book.tables.size() == curves.curves.size());
  for (const auto& [key, table] : book.tables) {
    std::vector<CurvePoint> at_full_clock;
    for (std::size_t i = 0; i < table.size(); ++i) {
      RC_ASSERT(table[i].milliwatts > 0);
      if (table[i].clock_permille == kFullClock) {
        at_full_clock.push_back({table[i].gpus, table[i].rate});
        continue;
      }
      const PowerPoint& faster = table[i + 1];
      RC_ASSERT(faster.gpus == table[i].gpus);
      RC_ASSERT(faster.clock_permille > table[i].clock_permille);
      RC_ASSERT(faster.rate >= table[i].rate);
      RC_ASSERT(faster.milliwatts >= table[i].milliwatts);
      // The lowest kept clock of a size takes the least energy per iteration of it.
      const bool is_lowest = i == 0 || table[i - 1].gpus != table[i].gpus;
      if (is_lowest && !assumptions.counts_node_share)
        RC_ASSERT(WideInteger{table[i].milliwatts} * faster.rate.value <
                  WideInteger{faster.milliwatts} * table[i].rate.value);
    }
    const auto useful = curves.curves.at(key).useful();
    RC_ASSERT(at_full_clock == std::vector<CurvePoint>(useful.begin(), useful.end()));
  }
}

}  // namespace
}  // namespace weir::predict
