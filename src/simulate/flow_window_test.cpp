// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "domain/seeded_rng.h"
#include "network/coflow_window.h"

namespace weir::simulate {
namespace {

using network::FabricSize;
using network::JobTraffic;
using network::play_window;
using network::route_traffic;

// Jobs on a 16 x 16 fabric, single groups of 4 hosts anywhere, spines by chance.
std::vector<JobTraffic> scattered_jobs(std::uint64_t seed, int count, int ranks) {
  const FabricSize fabric{16, 16, 16};
  SeededRng rng{seed};
  std::vector<int> groups;
  for (int group = 0; group < 64; ++group) groups.push_back(group);
  rng.shuffle(groups);
  std::vector<JobTraffic> jobs;
  std::size_t used = 0;
  for (int i = 0; i < count; ++i) {
    std::vector<int> mine(groups.begin() + static_cast<std::ptrdiff_t>(used),
                          groups.begin() + static_cast<std::ptrdiff_t>(used) + ranks / 4);
    used += mine.size();
    std::sort(mine.begin(), mine.end());
    std::vector<int> hosts;
    for (const int group : mine) {
      for (int host = 0; host < 4; ++host) hosts.push_back(group * 4 + host);
    }
    network::JobIteration job{.iteration_seconds = 0.2 + 0.8 * rng.uniform()};
    job.halves_and_doubles = i % 3 == 0;
    job.all_reduce = 0.05 + 0.2 * rng.uniform();
    if (i % 2 == 0) job.all_to_all = 0.258;
    jobs.push_back(route_traffic(job, hosts, fabric, [&](int, int) {
                     return static_cast<int>(rng.below(16));
                   }).traffic);
  }
  return jobs;
}

TEST(FlowWindow, LeavesAJobAloneAsTheFormulaSays) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto jobs = scattered_jobs(seed, 1, 32);
    const std::array<const JobTraffic*, 1> alone{&jobs[0]};
    EXPECT_NEAR(play_flow_window(alone, 512, 3, 1)[0], jobs[0].alone_seconds(), 1e-6);
  }
}

// The error that docs/models/network.md states.
TEST(FlowWindow, ShowsThatCoflowsAreSlowerByLittle) {
  double sum = 0;
  double worst = 0;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto jobs = scattered_jobs(seed, 8, 32);
    std::vector<const JobTraffic*> all;
    for (const JobTraffic& job : jobs) all.push_back(&job);
    const auto exact = play_flow_window(all, 512, 10, seed);
    const auto coflow = play_window(all, 10, seed);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double error = coflow[i] / exact[i] - 1;
      sum += std::abs(error);
      worst = std::max(worst, std::abs(error));
      EXPECT_GE(exact[i], jobs[i].alone_seconds() * (1 - 1e-6));
      ++count;
    }
  }
  RecordProperty("mean_error", std::to_string(sum / count));
  RecordProperty("worst_error", std::to_string(worst));
  EXPECT_LT(sum / count, 0.05);
  EXPECT_LT(worst, 0.2);
}

}  // namespace
}  // namespace weir::simulate
