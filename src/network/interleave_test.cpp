// SPDX-License-Identifier: Apache-2.0
#include "network/interleave.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

#include "network/coflow_window.h"

namespace weir::network {
namespace {

JobTraffic on_one_link(double quiet, double seconds, int link = 7) {
  JobTraffic traffic;
  traffic.quiet_seconds = quiet;
  traffic.phases.push_back({seconds, 1, {{link, 1}}, {}});
  traffic.demands = {{link, 1}};
  return traffic;
}

TEST(Interleave, MovesOneJobIntoThePauseOfAnother) {
  const JobTraffic job = on_one_link(0.6, 0.4);
  const std::array<TurningJob, 1> others{TurningJob{&job, 0}};
  EXPECT_NEAR(excess_demand({&job, 0}, others), 0.4, 0.05);
  const double shift = best_shift(job, others);
  EXPECT_DOUBLE_EQ(excess_demand({&job, shift}, others), 0);
  EXPECT_GE(shift, 0.4 - 0.05);
  EXPECT_LE(shift, 0.6 + 0.05);
  const std::array<const JobTraffic*, 2> both{&job, &job};
  for (const double seconds : play_window(both, 5, 1, std::array{0.0, shift}))
    EXPECT_NEAR(seconds, 1, 1e-9) << "played, they do not meet either";
}

TEST(Interleave, FindsRoomForAShortJobBesideALongOne) {
  const JobTraffic longer = on_one_link(1.5, 0.5);
  const JobTraffic shorter = on_one_link(0.7, 0.3);
  const std::array<TurningJob, 1> others{TurningJob{&longer, 0.4}};
  const double shift = best_shift(shorter, others);
  EXPECT_DOUBLE_EQ(excess_demand({&shorter, shift}, others), 0);
  const std::array<const JobTraffic*, 2> both{&longer, &shorter};
  const auto seconds = play_window(both, 5, 1, std::array{0.4, shift});
  EXPECT_NEAR(seconds[0], 2, 1e-9);
  EXPECT_NEAR(seconds[1], 1, 1e-9);
}

TEST(Interleave, LeavesJobsAloneThatShareNoFullLink) {
  const JobTraffic here = on_one_link(0.1, 0.9, 1);
  const JobTraffic there = on_one_link(0.1, 0.9, 2);
  const std::array<TurningJob, 1> others{TurningJob{&there, 0}};
  EXPECT_EQ(best_shift(here, others), 0);
  EXPECT_EQ(best_shift(here, {}), 0);
}

TEST(Interleave, OverlapsAsLittleAsItMustWhereThereIsNoRoom) {
  const JobTraffic job = on_one_link(0.25, 0.75);
  const std::array<TurningJob, 1> others{TurningJob{&job, 0}};
  const double shift = best_shift(job, others);
  EXPECT_NEAR(excess_demand({&job, shift}, others), 0.5, 0.06);
}

RC_GTEST_PROP(InterleaveProperty, ChoosesNothingWorseThanAnyOtherShift, ()) {
  const auto any = [] {
    const double period = 0.5 * *rc::gen::inRange(1, 5);
    const double share = 0.01 * *rc::gen::inRange(5, 80);
    return on_one_link(period * (1 - share), period * share);
  };
  const std::vector<JobTraffic> traffic{any(), any(), any()};
  const std::array<TurningJob, 2> others{TurningJob{&traffic[1], 0.01 * *rc::gen::inRange(0, 100)},
                                         TurningJob{&traffic[2], 0.01 * *rc::gen::inRange(0, 100)}};
  const double best = best_shift(traffic[0], others);
  RC_ASSERT(best >= 0 && best < traffic[0].alone_seconds());
  const double least = excess_demand({&traffic[0], best}, others);
  for (int i = 0; i < 20; ++i) {
    const double other = traffic[0].alone_seconds() * i / 20;
    RC_ASSERT(least <= excess_demand({&traffic[0], other}, others) + 1e-9);
  }
}

}  // namespace
}  // namespace weir::network
