// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/gate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

TEST(LeastGpuSeconds, OfASlowEnoughJobIsItsLeastSize) {
  // 10/s on one GPU: 500 iterations take 50 GPU-seconds however long the window is.
  const SizeTable sizes = sizes_of({{1, 10}, {2, 15}});
  EXPECT_EQ(least_gpu_seconds(sizes, work_of_iterations(500), from_seconds(100)), 50);
  EXPECT_EQ(least_gpu_seconds(sizes, work_of_iterations(500), from_seconds(1000)), 50);
}

TEST(LeastGpuSeconds, MixesTwoSizesWhenTheLeastIsTooSlow) {
  // 1250 in 100 s: half of the time on one GPU, half on two.
  const SizeTable sizes = sizes_of({{1, 10}, {2, 15}});
  EXPECT_EQ(least_gpu_seconds(sizes, work_of_iterations(1250), from_seconds(100)), 150);
}

TEST(LeastGpuSeconds, LeavesOutASizeThatAMixBeats) {
  // Two GPUs at 11/s are worse than a mix of one at 10/s and four at 40/s.
  const SizeTable sizes = sizes_of({{1, 10}, {2, 11}, {4, 40}});
  EXPECT_EQ(least_gpu_seconds(sizes, work_of_iterations(2000), from_seconds(100)), 200);
}

TEST(LeastGpuSeconds, OfNoSizesIsNothing) {
  EXPECT_EQ(least_gpu_seconds({}, work_of_iterations(1), from_seconds(1)), 0);
}

// Policies that use every measured size have tables in which more GPUs are not faster.
TEST(LeastGpuSeconds, DoesNotStumbleOverSizesThatAreNotFaster) {
  const SizeTable flat{{1, per_second(10), {}}, {2, per_second(10), {}}};
  EXPECT_EQ(least_gpu_seconds(flat, work_of_iterations(2000), from_seconds(100)), 200);
  const SizeTable falling{{1, per_second(10), {}}, {2, per_second(8), {}}, {4, per_second(20), {}}};
  EXPECT_EQ(least_gpu_seconds(falling, work_of_iterations(1500), from_seconds(100)), 250);
}

RC_GTEST_PROP(LeastGpuSeconds, EqualsTheCheapestMixOfTwoSizesOnAFineGrid, ()) {
  const SizeTable sizes = sizes_of(any_curve());
  const auto window = between<std::int64_t>(100, 10'000);
  const std::int64_t most = sizes.back().rate.value / 1'000'000 * window;
  const auto left = between<std::int64_t>(1, most + 1);
  double cheapest = 1e18;
  constexpr int kParts = 2000;
  // a for part of the window, b for what is then left to do.
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    for (std::size_t b = 0; b < sizes.size(); ++b) {
      for (int part = 0; part <= kParts; ++part) {
        const double time_a = static_cast<double>(window) * part / kParts;
        const double rest =
            static_cast<double>(left) - time_a * static_cast<double>(sizes[a].rate.value) / 1e6;
        const double time_b =
            std::max(0.0, rest / (static_cast<double>(sizes[b].rate.value) / 1e6));
        if (time_a + time_b > static_cast<double>(window) + 1e-9) continue;
        cheapest = std::min(cheapest, time_a * sizes[a].gpus + time_b * sizes[b].gpus);
      }
    }
  }
  const auto least =
      static_cast<double>(least_gpu_seconds(sizes, work_of_iterations(left), from_seconds(window)));
  RC_ASSERT(least <= cheapest + 1e-6);  // rounded down
  const double grain = static_cast<double>(window) / kParts * sizes.back().gpus;
  RC_ASSERT(least >= cheapest - 1 - grain);
}

// Eight GPUs, an hour of history with ten arrivals, three of them cheap and refused; and a giant
// that wants half of the pool for an hour.
class AdmissionGate : public ::testing::Test {
 protected:
  AdmissionGate() {
    state_ = initial_training_state(cluster_of({listed_node(1, 64, 8)}), SizeRule::useful);
    pool().first_arrival = at_second(0);
    pool().arrivals_seen = 10;
    for (int i = 0; i < 10; ++i) pool().arrivals.push_back({at_second(i * 300), 3000, i < 3});
  }
  PoolState& pool() { return state_.pools.front(); }
  std::optional<std::int64_t> closes(std::int64_t gpu_seconds = 4 * 3600) {
    return gate_closes(pool(), unpromised_, gpu_seconds, kNow, kNow + std::chrono::hours{1},
                       rules_);
  }

  static constexpr Time kNow = at_second(3600);
  TrainingState state_;
  CapacityProfile unpromised_{at_second(0), 8};
  GateRules rules_;
};

// Expected: 30,000 GPU-seconds an hour, 70 % of it: 21,000; with the giant 35,400 of 28,800.
TEST_F(AdmissionGate, ClosesForAGiantWhileCheaperJobsAreTurnedAway) {
  EXPECT_EQ(closes(), 3);
}

TEST_F(AdmissionGate, IsOpenWhileThereIsNoTelling) {
  pool().arrivals_seen = 9;
  EXPECT_EQ(closes(), std::nullopt);
}

TEST_F(AdmissionGate, IsOpenWhileFewWereRefusedForLackOfRoom) {
  pool().arrivals[0].was_refused_for_room = false;
  EXPECT_EQ(closes(), std::nullopt);
}

TEST_F(AdmissionGate, IsOpenForAJobThatIsNotDearerThanThoseRefused) {
  EXPECT_EQ(closes(3000), std::nullopt);
  for (RememberedArrival& arrival : pool().arrivals) arrival.least_gpu_seconds = 4 * 3600;
  EXPECT_EQ(closes(), std::nullopt);
}

TEST_F(AdmissionGate, IsOpenWhenThereIsRoomForAll) {
  EXPECT_EQ(closes(28'800 - 21'000), std::nullopt);
  EXPECT_EQ(closes(28'800 - 21'000 + 1), 3);
}

TEST_F(AdmissionGate, CountsWhatIsPromisedInsideTheWindow) {
  EXPECT_EQ(closes(5000), std::nullopt);
  unpromised_.add(kNow, kNow + std::chrono::minutes{30}, -2);  // 3600 GPU-seconds
  EXPECT_EQ(closes(5000), 3);
}

TEST_F(AdmissionGate, WhatIsPromisedAfterTheWindowDoesNotCount) {
  unpromised_.add(kNow + std::chrono::hours{1}, kNow + std::chrono::hours{9}, -8);
  EXPECT_EQ(closes(5000), std::nullopt);
}

TEST_F(AdmissionGate, ALongerHistoryMeansFewerArrivalsToCome) {
  pool().first_arrival = kNow - std::chrono::hours{10};
  EXPECT_EQ(closes(), std::nullopt);
}

}  // namespace
}  // namespace weir::schedule
