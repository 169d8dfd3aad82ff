// SPDX-License-Identifier: Apache-2.0
#include "network/coflow_window.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "domain/seeded_rng.h"

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

// The plain way: at every instant all links are filled from nothing, step by step.
std::vector<double> plain_coflow_rates(std::span<const JobTraffic* const> jobs,
                                       const std::vector<int>& phases) {
  std::vector<double> rates(jobs.size(), 1);
  std::vector<std::size_t> rising;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (phases[j] >= 0) rising.push_back(j);
  }
  std::map<int, double> room;
  const auto loads = [&](std::size_t j) -> const std::vector<LinkLoad>& {
    return jobs[j]->phases[static_cast<std::size_t>(phases[j])].loads;
  };
  while (!rising.empty()) {
    std::map<int, double> weight;
    for (const std::size_t j : rising) {
      for (const LinkLoad& load : loads(j)) {
        weight[load.link] += static_cast<double>(load.flows);
        room.try_emplace(load.link, 1);
      }
    }
    double lowest = std::numeric_limits<double>::infinity();
    std::size_t stops = 0;
    for (const std::size_t j : rising) {
      double level = jobs[j]->phases[static_cast<std::size_t>(phases[j])].rate;
      for (const LinkLoad& load : loads(j))
        level = std::min(level, room[load.link] / weight[load.link]);
      if (level < lowest) {
        lowest = level;
        stops = j;
      }
    }
    rates[stops] = std::max(lowest, 1e-6);
    for (const LinkLoad& load : loads(stops))
      room[load.link] -= static_cast<double>(load.flows) * rates[stops];
    std::erase(rising, stops);
  }
  return rates;
}

std::vector<double> plain_coflow_window(std::span<const JobTraffic* const> jobs, int iterations,
                                        std::uint64_t seed) {
  SeededRng rng{seed};
  std::vector<int> phases(jobs.size(), -1);
  std::vector<double> left;
  for (const JobTraffic* job : jobs) left.push_back(job->quiet_seconds * rng.uniform());
  std::vector<int> done(jobs.size(), -1);
  std::vector<double> first(jobs.size());
  std::vector<double> last(jobs.size());
  double now = 0;
  while (*std::min_element(done.begin(), done.end()) < iterations) {
    const auto rates = plain_coflow_rates(jobs, phases);
    double step = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < jobs.size(); ++j) step = std::min(step, left[j] / rates[j]);
    now += step;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      left[j] -= step * rates[j];
      double rate = rates[j];
      while (left[j] <= 1e-9 * rate) {
        if (++phases[j] < static_cast<int>(jobs[j]->phases.size())) {
          const auto& phase = jobs[j]->phases[static_cast<std::size_t>(phases[j])];
          left[j] = phase.seconds;
          rate = phase.rate;
          continue;
        }
        phases[j] = -1;
        left[j] = jobs[j]->quiet_seconds;
        rate = 1;
        if (++done[j] == 0) first[j] = now;
        last[j] = now;
      }
    }
  }
  std::vector<double> seconds;
  for (std::size_t j = 0; j < jobs.size(); ++j) seconds.push_back((last[j] - first[j]) / done[j]);
  return seconds;
}

JobTraffic random_coflow_traffic() {
  JobTraffic traffic;
  traffic.quiet_seconds =
      *rc::gen::inRange(1, 60) / 100.0 + 1e-3 * *rc::gen::inRange(0, 1000) / 1000.0;
  std::map<int, float> most;
  const int phases = *rc::gen::inRange(1, 4);
  for (int p = 0; p < phases; ++p) {
    std::map<int, float> flows;
    const int links = *rc::gen::inRange(1, 6);
    for (int l = 0; l < links; ++l)
      flows[*rc::gen::inRange(0, 8)] = static_cast<float>(*rc::gen::inRange(1, 5));
    float largest = 0;
    for (const auto& [link, count] : flows) largest = std::max(largest, count);
    TrafficPhase phase{
        *rc::gen::inRange(1, 40) / 100.0 + 1e-3 * *rc::gen::inRange(0, 1000) / 1000.0,
        1 / static_cast<double>(largest),
        {},
        {}};
    for (const auto& [link, count] : flows) {
      phase.loads.push_back({link, count});
      most[link] = std::max(most[link], count / largest);
    }
    traffic.phases.push_back(std::move(phase));
  }
  for (const auto& [link, demand] : most) traffic.demands.push_back({link, demand});
  return traffic;
}

// One object plays windows one after the other: nothing of one stays for the next.
RC_GTEST_PROP(CoflowWindowLaws, PlaysAsThePlainWayDoes, ()) {
  CoflowWindows windows{8};
  for (int round = 0; round < 3; ++round) {
    std::vector<JobTraffic> traffic;
    const int count = *rc::gen::inRange(1, 7);
    for (int j = 0; j < count; ++j) traffic.push_back(random_coflow_traffic());
    std::vector<const JobTraffic*> jobs;
    for (const JobTraffic& job : traffic) jobs.push_back(&job);
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1000);
    const auto fast = windows.play(jobs, 2, seed);
    const auto plain = plain_coflow_window(jobs, 2, seed);
    for (std::size_t j = 0; j < jobs.size(); ++j)
      RC_ASSERT(std::abs(fast[j] - plain[j]) <= 1e-6 * plain[j]);
  }
}

}  // namespace
}  // namespace weir::network
