// SPDX-License-Identifier: Apache-2.0
#include "network/partition/defragment.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

// Under some leaves the first nodes, each leaf with these spines.
Partition nodes_and_spines(const std::vector<int>& leaves, int first_node,
                           const std::vector<int>& spines) {
  Partition partition;
  partition.spines = spines;
  for (const int leaf : leaves) {
    LeafShare share{.leaf = leaf, .uplinks = spines};
    for (int i = 0; i < static_cast<int>(spines.size()); ++i) share.nodes.push_back(first_node + i);
    partition.leaves.push_back(share);
    partition.hosts += static_cast<int>(spines.size());
  }
  return partition;
}

// No node and no link is in two of them.
bool are_apart(const std::vector<Partition>& partitions) {
  std::set<std::pair<int, int>> nodes;
  std::set<std::pair<int, int>> links;
  for (const Partition& partition : partitions) {
    for (const LeafShare& share : partition.leaves) {
      for (const int node : share.nodes) {
        if (!nodes.emplace(share.leaf, node).second) return false;
      }
      for (const int link : share.uplinks) {
        if (!links.emplace(share.leaf, link).second) return false;
      }
    }
  }
  return true;
}

TEST(Defragment, GivesARunningJobOtherSpinesBeforeItMovesHosts) {
  LogicalClos clos{{.leaves = 3, .hosts_per_leaf = 4, .spines = 4}};
  const RunningPartition first{JobId{1}, nodes_and_spines({0, 1}, 0, {0, 1})};
  const RunningPartition second{JobId{2}, nodes_and_spines({1, 2}, 2, {2, 3})};
  clos.take(first.partition);
  clos.take(second.partition);
  // Leaf 0 has spines 2, 3 left and leaf 2 has 0, 1: nothing in common.
  ASSERT_EQ(clos.find(4).error(), NoPartition::links_taken);
  const std::vector<RunningPartition> running{first, second};
  const auto change = defragment(clos, running, 4, 0);
  ASSERT_FALSE(change.has_value()) << "leaf 1 has no spine to spare: " << change->job.value;
  const auto move = defragment(clos, running, 4, 4);
  ASSERT_TRUE(move.has_value());
  EXPECT_TRUE(move->moves_hosts);

  // With two spines more, other routes for the second job will do.
  LogicalClos wide{{.leaves = 3, .hosts_per_leaf = 4, .spines = 6}};
  wide.take(first.partition);
  wide.take(second.partition);
  wide.block_link(0, 4);
  wide.block_link(0, 5);
  ASSERT_EQ(wide.find(4).error(), NoPartition::links_taken);
  const auto reroute = defragment(wide, running, 4, 0);
  ASSERT_TRUE(reroute.has_value());
  EXPECT_FALSE(reroute->moves_hosts);
  EXPECT_EQ(reroute->job, JobId{2});
  EXPECT_EQ(reroute->after.spines, (std::vector<int>{4, 5}));
}

TEST(Defragment, LeavesAStateThatHoldsEveryJob) {
  SeededRng rng{3};
  int helped = 0;
  int moved = 0;
  for (int round = 0; round < 300; ++round) {
    LogicalClos clos{{.leaves = 8, .hosts_per_leaf = 8, .spines = 8}};
    std::vector<RunningPartition> running;
    for (std::uint64_t job = 1; job <= 40; ++job) {
      const auto found = clos.find(1 << rng.below(5));
      if (!found) continue;
      clos.take(*found);
      running.push_back({JobId{job}, *found});
      if (running.size() > 6) {
        const auto leaves =
            running.begin() + static_cast<std::ptrdiff_t>(rng.below(running.size()));
        clos.release(leaves->partition);
        running.erase(leaves);
      }
    }
    for (const int hosts : {16, 32}) {
      if (clos.find(hosts) || hosts > clos.free_hosts()) continue;
      const auto change = defragment(clos, running, hosts, 8);
      if (!change) continue;
      ++helped;
      moved += change->moves_hosts ? 1 : 0;
      std::vector<Partition> after{change->admitted};
      std::size_t known = 0;
      for (const RunningPartition& job : running) {
        known += job.job == change->job ? 1 : 0;
        after.push_back(job.job == change->job ? change->after : job.partition);
      }
      EXPECT_EQ(known, 1u);
      EXPECT_EQ(change->admitted.hosts, hosts);
      EXPECT_TRUE(are_apart(after));
    }
  }
  EXPECT_GT(helped, 5);
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace weir::network
