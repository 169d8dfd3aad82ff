// SPDX-License-Identifier: Apache-2.0
#include "network/coflow_window.h"

#include <gtest/gtest.h>

#include <array>

namespace weir::network {
namespace {

JobTraffic one_phase(double quiet, double seconds, std::vector<LinkLoad> loads) {
  JobTraffic traffic;
  traffic.quiet_seconds = quiet;
  float most = 0;
  for (const LinkLoad& load : loads) most = std::max(most, load.flows);
  for (const LinkLoad& load : loads) traffic.demands.push_back({load.link, load.flows / most});
  traffic.phases.push_back({seconds, 1 / static_cast<double>(most), std::move(loads)});
  return traffic;
}

TEST(CoflowWindow, LeavesAJobAloneAsItIs) {
  const JobTraffic job = one_phase(0.3, 0.2, {{7, 2}, {9, 1}});
  const std::array<const JobTraffic*, 1> jobs{&job};
  EXPECT_NEAR(play_window(jobs, 5, 1)[0], 0.3 + 2 * 0.2, 1e-9);
}

TEST(CoflowWindow, DoublesTheTimeOfTwoJobsThatAlwaysShareOneLink) {
  const JobTraffic job = one_phase(0, 0.5, {{7, 1}});
  const std::array<const JobTraffic*, 2> jobs{&job, &job};
  for (const double seconds : play_window(jobs, 10, 1)) EXPECT_NEAR(seconds, 1, 1e-9);
}

TEST(CoflowWindow, LetsJobsInterleaveWhereTheyCan) {
  const JobTraffic job = one_phase(0.9, 0.1, {{7, 1}});
  const std::array<const JobTraffic*, 2> jobs{&job, &job};
  int apart = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const double seconds : play_window(jobs, 10, seed)) {
      EXPECT_LE(seconds, 1.1 + 1e-9);
      apart += seconds < 1 + 1e-9 ? 1 : 0;
    }
  }
  EXPECT_GT(apart, 24) << "most beginnings keep the two apart for ever";
}

TEST(CoflowWindow, BeginsWhereItIsTold) {
  const JobTraffic job = one_phase(0.5, 0.5, {{7, 1}});
  const std::array<const JobTraffic*, 2> jobs{&job, &job};
  for (const double seconds : play_window(jobs, 4, 1, std::array{0.0, 0.5}))
    EXPECT_NEAR(seconds, 1, 1e-9) << "one computes while the other communicates";
  for (const double seconds : play_window(jobs, 4, 1, std::array{0.0, 0.0}))
    EXPECT_NEAR(seconds, 1.5, 1e-9) << "both at once";
}

TEST(CoflowWindow, SharesFairlyBetweenJobsOfUnequalWeight) {
  // Link 1: three flows of the first and one of the second, at one rate: 1/4 each.
  const JobTraffic first = one_phase(0, 1, {{1, 3}});
  const JobTraffic second = one_phase(0, 1, {{1, 1}});
  const std::array<const JobTraffic*, 2> jobs{&first, &second};
  for (const double seconds : play_window(jobs, 4, 1)) EXPECT_NEAR(seconds, 4, 1e-9);
}

TEST(CoflowWindow, GivesWhatAHeldBackJobLeavesToTheOther) {
  // The first runs at 1/4 because of link 1, where nobody else is; link 2 has 3/4 for the second.
  JobTraffic first = one_phase(0, 1, {{1, 4}, {2, 1}});
  JobTraffic second = one_phase(0, 1, {{2, 1}});
  second.demands = {{2, 1}};
  const std::array<const JobTraffic*, 2> jobs{&first, &second};
  const auto seconds = play_window(jobs, 6, 1);
  EXPECT_NEAR(seconds[0], 4, 1e-9);
  EXPECT_NEAR(seconds[1], 4.0 / 3, 1e-9);
}

}  // namespace
}  // namespace weir::network
