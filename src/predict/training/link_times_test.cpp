// SPDX-License-Identifier: Apache-2.0
#include "predict/training/link_times.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::predict {
namespace {

// 1 MiB at 1 GB/s, 2 at 2, 4 at 4, 8 at 8: a MiB at 1 GB/s takes 1000 us.
const std::vector<LinkSpeed> kLink{{1, 1}, {2, 2}, {4, 4}, {8, 8}};

TEST(SteppedTransfer, IsChargedAtTheStepBelowItsSize) {
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 1), 1 * 1000.0 / 1);  // index 0 stays 0
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 2), 2 * 1000.0 / 1);  // index 1 becomes 0
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 8), 8 * 1000.0 / 4);  // 8 MiB at the speed of 4
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 15.9), 15.9 * 1000.0 / 4);
}

TEST(SteppedTransfer, BelowOneMibCountsFromTheEndOfTheTable) {
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 0.75), 0.75 * 1000.0 / 1);  // log2 is cut to 0
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 0.5), 0.5 * 1000.0 / 8);    // -1: the last
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 0.2), 0.2 * 1000.0 / 4);    // -2
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 1e-9), 1e-9 * 1000.0 / 1);  // before the first
}

TEST(SteppedTransfer, BeyondTheTableTakesTheLastStep) {
  EXPECT_DOUBLE_EQ(stepped_transfer_us(kLink, 1024), 1024 * 1000.0 / 8);
}

TEST(SteppedTransfer, NothingTakesNoTimeAndWhatIsUnknownIsForbidden) {
  EXPECT_EQ(stepped_transfer_us(kLink, 0), 0);
  EXPECT_EQ(stepped_transfer_us(kLink, std::numeric_limits<double>::infinity()), 1e8);
}

TEST(TransferTime, IsLinearBetweenMeasuredSizes) {
  // Each measured size takes 1000 us here, so does every size between two.
  EXPECT_DOUBLE_EQ(transfer_time_us(kLink, 2), 1000);
  EXPECT_DOUBLE_EQ(transfer_time_us(kLink, 3), 1000);
  const std::vector<LinkSpeed> even{{1, 1}, {4, 1}};  // 1000 us and 4000 us
  EXPECT_DOUBLE_EQ(transfer_time_us(even, 2), 2000);
}

TEST(TransferTime, OutsideTheTableGoesOnAtTheNearestSpeed) {
  EXPECT_DOUBLE_EQ(transfer_time_us(kLink, 0.5), 0.5 * 1000.0 / 1);
  EXPECT_DOUBLE_EQ(transfer_time_us(kLink, 80), 80 * 1000.0 / 8);
  EXPECT_EQ(transfer_time_us(kLink, 0), 0);
}

TEST(LookedUpCollective, TakesTheWholeMibHalfToEvenOrOneLess) {
  const CollectiveTimes times{{2, 0.2}, {4, 0.4}};
  EXPECT_DOUBLE_EQ(looked_up_collective_us(&times, 2.5), 200);  // rounds to 2, not 3
  EXPECT_DOUBLE_EQ(looked_up_collective_us(&times, 3.5), 400);  // rounds to 4
  EXPECT_DOUBLE_EQ(looked_up_collective_us(&times, 5), 400);    // one less
}

TEST(LookedUpCollective, AMissForbidsThePlan) {
  const CollectiveTimes times{{2, 0.2}};
  EXPECT_EQ(looked_up_collective_us(&times, 8), 1e8);
  EXPECT_EQ(looked_up_collective_us(nullptr, 2), 1e8);
}

TEST(InterpolatedCollective, IsLinearBetweenMeasuredSizes) {
  const CollectiveTimes times{{2, 0.2}, {4, 0.8}};
  EXPECT_DOUBLE_EQ(interpolated_collective_us(times, 2).value(), 200);
  EXPECT_DOUBLE_EQ(interpolated_collective_us(times, 2.5).value(), 350);
  EXPECT_DOUBLE_EQ(interpolated_collective_us(times, 4).value(), 800);
}

TEST(InterpolatedCollective, BelowTheTableIsTheFirstTimeAndBeyondItGrowsInProportion) {
  const CollectiveTimes times{{2, 0.2}, {4, 0.8}};
  EXPECT_DOUBLE_EQ(interpolated_collective_us(times, 0.5).value(), 200);
  EXPECT_DOUBLE_EQ(interpolated_collective_us(times, 8).value(), 1600);
  EXPECT_FALSE(interpolated_collective_us({}, 8));
}

TEST(InterpolatedCollective, SizesThatWereSkippedCountForNothing) {
  CollectiveTimes times{{0, 0.1}, {2, 0.2}, {3, 1e6}, {4, 0.8}};
  drop_skipped(times);
  EXPECT_EQ(times, (CollectiveTimes{{2, 0.2}, {4, 0.8}}));
}

TEST(RingCollective, MovesWhatARingMoves) {
  const std::vector<LinkSpeed> link{{1, 1}, {64, 1}};  // 1000 us a MiB
  EXPECT_DOUBLE_EQ(ring_collective_us(Collective::all_reduce, 4, 8, link), 2 * 3 / 4.0 * 8 * 1000);
  EXPECT_DOUBLE_EQ(ring_collective_us(Collective::all_gather, 4, 8, link), 3 * 8 * 1000);
  EXPECT_DOUBLE_EQ(ring_collective_us(Collective::reduce_scatter, 4, 8, link), 3 / 4.0 * 8 * 1000);
  EXPECT_DOUBLE_EQ(ring_collective_us(Collective::all_to_all, 4, 8, link), 3 / 4.0 * 8 * 1000);
}

}  // namespace
}  // namespace weir::predict
