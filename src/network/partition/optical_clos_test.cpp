// SPDX-License-Identifier: Apache-2.0
#include "network/partition/optical_clos.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

// Every promise of the header, from the circuits alone.
void expect_wired_as_asked(const OpticalClos& clos) {
  const OpticalShape& shape = clos.shape();
  std::set<std::pair<int, int>> leaf_ports;
  std::map<std::pair<int, int>, int> spine_ports;    // switch, spine
  std::map<std::tuple<JobId, int, int>, int> links;  // job, leaf, spine or -1
  for (const Circuit& circuit : clos.wiring().circuits()) {
    EXPECT_TRUE(leaf_ports.insert({circuit.optical_switch, circuit.leaf}).second);
    ++links[{circuit.job, circuit.leaf, circuit.spine}];
    if (circuit.spine >= 0) {
      EXPECT_LE(++(spine_ports[{circuit.optical_switch, circuit.spine}]),
                shape.spine_ports_per_switch);
    } else {
      EXPECT_TRUE(leaf_ports.insert({circuit.optical_switch, circuit.other_leaf}).second);
      ++links[{circuit.job, circuit.other_leaf, circuit.spine}];
    }
  }
  std::size_t demands = 0;
  std::set<std::pair<int, int>> nodes;
  for (const auto& [job, partition] : clos.jobs()) {
    int hosts = 0;
    for (const OpticalShare& share : partition.leaves) {
      for (const int node : share.nodes) EXPECT_TRUE(nodes.insert({share.leaf, node}).second);
      const int here = static_cast<int>(share.nodes.size()) * shape.hosts_per_node;
      hosts += here;
      if (partition.kind == OpticalKind::two_leaves) {
        EXPECT_EQ((links[{job, share.leaf, -1}]), share.links);
        ++demands;
      }
      for (const int spine : partition.spines) {
        EXPECT_EQ((links[{job, share.leaf, spine}]), share.links);
        ++demands;
      }
      if (!partition.spines.empty()) {
        EXPECT_GE(share.links * static_cast<int>(partition.spines.size()), here);
      }
    }
    EXPECT_GE(hosts, partition.hosts);
    EXPECT_LT(hosts, partition.hosts + shape.hosts_per_node);
  }
  EXPECT_EQ(links.size(), demands) << "circuits that nobody asked for";
}

TEST(OpticalClos, JoinsTwoLeavesWithoutASpine) {
  OpticalClos clos{{.leaves = 4, .hosts_per_leaf = 4, .spines = 2}};
  const auto job = clos.start(JobId{1}, 6);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->partition.kind, OpticalKind::two_leaves);
  EXPECT_EQ(job->circuits_made, 2) << "4 hosts and 2 hosts: never more than 2 flows cross";
  expect_wired_as_asked(clos);
}

TEST(OpticalClos, WiresAWholeJobToOneSpine) {
  OpticalClos clos{{.leaves = 4, .hosts_per_leaf = 4, .spines = 2, .spine_ports_per_switch = 3}};
  const auto job = clos.start(JobId{1}, 12);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->partition.kind, OpticalKind::one_spine);
  EXPECT_EQ(job->circuits_made, 12);
  expect_wired_as_asked(clos);
}

TEST(OpticalClos, SpreadsALargeJobEvenlyOverSpines) {
  OpticalClos clos{{.leaves = 4, .hosts_per_leaf = 4, .spines = 2}};
  const auto job = clos.start(JobId{1}, 16);
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->partition.kind, OpticalKind::several_spines);
  for (const OpticalShare& share : job->partition.leaves) EXPECT_EQ(share.links, 2);
  EXPECT_EQ(clos.start(JobId{2}, 17).error(), NoPartition::larger_than_fabric);
  EXPECT_EQ(clos.start(JobId{2}, 1).error(), NoPartition::too_few_free);
  clos.release(JobId{1});
  EXPECT_EQ(clos.wiring().circuits().size(), 0u);
  EXPECT_EQ(clos.free_hosts(), 16);
}

TEST(OpticalClos, AddsUpThePauseOfARewiring) {
  EXPECT_EQ(RewiringTimes{}.pause(), std::chrono::milliseconds{2125});
}

TEST(OpticalClos, RefusesShapesThatMakeNoSense) {
  EXPECT_EQ(check(OpticalShape{.leaves = 0, .hosts_per_leaf = 4, .spines = 2}).list().size(), 1u);
  EXPECT_EQ(check(OpticalShape{
                      .leaves = 4, .hosts_per_leaf = 4, .spines = 2, .spine_ports_per_switch = 0})
                .list()
                .at(0)
                .field,
            "--spine-ports");
}

RC_GTEST_PROP(OpticalClosProperty, WiresExactlyWhatRunningJobsNeed, (std::uint64_t seed)) {
  SeededRng rng{seed};
  const auto below = [&](int bound) {
    return static_cast<int>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  OpticalShape shape;
  shape.hosts_per_node = 1 + below(2);
  shape.leaves = 2 + below(8);
  shape.hosts_per_leaf = shape.hosts_per_node * (1 + below(5));
  shape.spine_ports_per_switch = 1 + below(2);
  shape.spines = (shape.leaves + shape.spine_ports_per_switch - 1) / shape.spine_ports_per_switch;
  OpticalClos clos{shape};
  std::uint64_t next = 1;
  for (int step = 0; step < 60; ++step) {
    if (!clos.jobs().empty() && below(5) < 2) {
      auto job = clos.jobs().begin();
      std::advance(job, below(static_cast<int>(clos.jobs().size())));
      clos.release(job->first);
    } else {
      const auto before = clos.wiring().circuits();
      const bool may_move = below(4) > 0;
      const JobId job{next++};
      const auto started = clos.start(job, 1 + below(shape.hosts()), may_move);
      auto after = clos.wiring().circuits();
      if (!started) {
        RC_ASSERT(after == before);
      } else {
        // Whoever is not said to have been touched has the circuits it had.
        if (!may_move) RC_ASSERT(started->circuits_moved == 0);
        const auto is_untouched = [&](const Circuit& circuit) {
          return circuit.job != job && !started->jobs_paused.contains(circuit.job);
        };
        std::vector<Circuit> had;
        std::vector<Circuit> has;
        std::copy_if(before.begin(), before.end(), std::back_inserter(had), is_untouched);
        std::copy_if(after.begin(), after.end(), std::back_inserter(has), is_untouched);
        RC_ASSERT(had == has);
      }
    }
    expect_wired_as_asked(clos);
    RC_ASSERT(!testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace weir::network
