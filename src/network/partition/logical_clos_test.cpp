// SPDX-License-Identifier: Apache-2.0
#include "network/partition/logical_clos.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "domain/seeded_rng.h"
#include "domain/whole_numbers.h"

namespace weir::network {
namespace {

int below(SeededRng& rng, int bound) {
  return static_cast<int>(rng.below(static_cast<std::uint64_t>(bound)));
}

// Sees only which nodes and links are free, and tries every set of leaves and every set of spines.
bool brute_force_finds(const LogicalClos& clos, int hosts) {
  const ClosShape& shape = clos.shape();
  const int nodes = static_cast<int>(divide_up(hosts, shape.hosts_per_node));
  std::vector<int> free(static_cast<std::size_t>(shape.leaves));
  for (int leaf = 0; leaf < shape.leaves; ++leaf) {
    for (int node = 0; node < shape.nodes_per_leaf(); ++node)
      free[static_cast<std::size_t>(leaf)] += clos.is_node_free(leaf, node) ? 1 : 0;
  }
  if (*std::max_element(free.begin(), free.end()) >= nodes) return true;
  const auto free_links = [&](int leaf, int spine) {
    int count = 0;
    for (int copy = 0; copy < shape.links_per_pair; ++copy)
      count += clos.is_link_free(leaf, spine * shape.links_per_pair + copy) ? 1 : 0;
    return count;
  };
  const int square = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes)));
  for (unsigned leaves = 1; leaves < 1U << shape.leaves; ++leaves) {
    const int count = std::popcount(leaves);
    if (count < 2 || square % count != 0 || !is_power_of_two(square / count)) continue;
    const int width = square / count;
    int spare = 0;
    bool has_nodes = true;
    for (int leaf = 0; leaf < shape.leaves; ++leaf) {
      if ((leaves >> leaf & 1U) == 0) continue;
      const int here = free[static_cast<std::size_t>(leaf)];
      has_nodes = has_nodes && here >= width;
      spare += std::min(width, here - width);
    }
    if (!has_nodes || spare < nodes - square) continue;
    // With parallel links a spine may serve several hosts: all sets of spines, all their links.
    for (unsigned spines = 1; spines < 1U << shape.spines; ++spines) {
      int links = 0;
      for (int spine = 0; spine < shape.spines; ++spine) {
        if ((spines >> spine & 1U) == 0) continue;
        int common = shape.links_per_pair;
        for (int leaf = 0; leaf < shape.leaves; ++leaf) {
          if ((leaves >> leaf & 1U) != 0) common = std::min(common, free_links(leaf, spine));
        }
        links += common;
      }
      if (links >= width * shape.hosts_per_node) return true;
    }
  }
  return false;
}

// What a partition promises, by itself and in this state.
void expect_sound(const LogicalClos& clos, const Partition& partition, int hosts) {
  const ClosShape& shape = clos.shape();
  EXPECT_EQ(partition.hosts, hosts);
  int nodes = 0;
  std::set<int> leaves;
  for (const LeafShare& share : partition.leaves) {
    EXPECT_TRUE(leaves.insert(share.leaf).second);
    nodes += static_cast<int>(share.nodes.size());
    EXPECT_EQ(std::set<int>(share.nodes.begin(), share.nodes.end()).size(), share.nodes.size());
    for (const int node : share.nodes) EXPECT_TRUE(clos.is_node_free(share.leaf, node));
    EXPECT_EQ(std::set<int>(share.uplinks.begin(), share.uplinks.end()).size(),
              share.uplinks.size());
    ASSERT_EQ(share.uplinks.size(), partition.spines.size());
    for (std::size_t i = 0; i < share.uplinks.size(); ++i) {
      EXPECT_TRUE(clos.is_link_free(share.leaf, share.uplinks[i]));
      EXPECT_EQ(share.uplinks[i] / shape.links_per_pair, partition.spines[i]);
    }
    if (partition.leaves.size() > 1) {
      const int width = static_cast<int>(share.nodes.size()) - share.paired;
      EXPECT_EQ(width * shape.hosts_per_node, std::ssize(partition.spines));
      EXPECT_LE(share.paired, width);
    }
  }
  EXPECT_EQ(nodes, divide_up(hosts, shape.hosts_per_node));
  EXPECT_EQ(partition.leaves.size() == 1, partition.spines.empty());
}

TEST(LogicalClos, GivesAJobUnderOneLeafNoSpine) {
  LogicalClos clos{{.leaves = 4, .hosts_per_leaf = 8, .spines = 8}};
  clos.take(*clos.find(5));
  const auto job = clos.find(3);
  ASSERT_TRUE(job.has_value());
  ASSERT_EQ(job->leaves.size(), 1u);
  EXPECT_EQ(job->leaves[0].leaf, 0) << "the fullest leaf that will do";
  EXPECT_EQ(job->leaves[0].nodes, (std::vector<int>{5, 6, 7}));
  EXPECT_TRUE(job->spines.empty());
}

TEST(LogicalClos, GivesALargerJobOneLinkPerHost) {
  const LogicalClos clos{{.leaves = 4, .hosts_per_leaf = 8, .spines = 8}};
  const auto job = clos.find(16);
  ASSERT_TRUE(job.has_value());
  ASSERT_EQ(job->leaves.size(), 2u);
  EXPECT_EQ(job->spines, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(job->leaves[0].uplinks, job->spines);
}

TEST(LogicalClos, PairsTheNodesBeyondAPowerOfTwoInsideTheirLeaf) {
  const LogicalClos clos{{.leaves = 4, .hosts_per_leaf = 8, .spines = 8}};
  const auto job = clos.find(12);  // 2 leaves x 4, and 4 more
  ASSERT_TRUE(job.has_value());
  ASSERT_EQ(job->leaves.size(), 2u);
  EXPECT_EQ(job->spines.size(), 4u);
  EXPECT_EQ(job->leaves[0].paired + job->leaves[1].paired, 4);
}

TEST(LogicalClos, SaysWhyThereIsNone) {
  LogicalClos clos{{.leaves = 2, .hosts_per_leaf = 4, .spines = 4}};
  EXPECT_EQ(clos.find(9).error(), NoPartition::larger_than_fabric);
  LogicalClos blocked = clos;
  for (int spine = 0; spine < 3; ++spine) blocked.block_link(0, spine);
  EXPECT_EQ(blocked.find(8).error(), NoPartition::links_taken);
  clos.take(*clos.find(3));
  EXPECT_EQ(clos.find(8).error(), NoPartition::too_few_free);
  LogicalClos uneven{{.leaves = 2, .hosts_per_leaf = 4, .spines = 4}};
  Partition taken;
  taken.leaves = {{.leaf = 0, .nodes = {0, 1, 2}}, {.leaf = 1, .nodes = {0}}};
  uneven.take(taken);
  EXPECT_EQ(uneven.find(4).error(), NoPartition::hosts_scattered)
      << "1 and 3 are free, not 2 and 2";
}

TEST(LogicalClos, TellsHowFragmentedItIs) {
  LogicalClos clos{{.leaves = 2, .hosts_per_leaf = 4, .spines = 4}};
  EXPECT_EQ(fragmentation(clos), 0.0);
  for (int spine = 0; spine < 4; ++spine) clos.block_link(0, spine);
  EXPECT_EQ(largest_job(clos), 4);
  EXPECT_EQ(fragmentation(clos), 0.5);
}

TEST(LogicalClos, RefusesShapesThatMakeNoSense) {
  EXPECT_EQ(check({.leaves = 0, .hosts_per_leaf = -4, .spines = 300}).list().size(), 3u);
  EXPECT_EQ(check({.leaves = 4, .hosts_per_leaf = 6, .spines = 4, .hosts_per_node = 4})
                .list()
                .at(0)
                .field,
            "--node-hosts");
  EXPECT_FALSE(
      check({.leaves = 4, .hosts_per_leaf = 8, .spines = 200, .links_per_pair = 2}).empty());
  EXPECT_TRUE(check({.leaves = 128, .hosts_per_leaf = 64, .spines = 64}).empty());
}

TEST(LogicalClos, FindsAPartitionExactlyWhenThereIsOne) {
  SeededRng rng{20'261'116};
  std::int64_t requests = 0;
  std::int64_t feasible = 0;
  while (requests < 60'000) {
    ClosShape shape;
    shape.leaves = 2 + below(rng, 5);
    shape.hosts_per_node = 1 + below(rng, 3);
    shape.hosts_per_leaf = shape.hosts_per_node * (1 + below(rng, 6));
    shape.spines = 1 + below(rng, 6);
    shape.links_per_pair = below(rng, 3) == 0 ? 2 : 1;
    LogicalClos clos{shape};
    const int blocked = below(rng, 100);
    const int used = below(rng, 80);
    for (int leaf = 0; leaf < shape.leaves; ++leaf) {
      Partition taken;
      taken.leaves = {{.leaf = leaf}};
      for (int node = 0; node < shape.nodes_per_leaf(); ++node) {
        if (below(rng, 100) < used) taken.leaves[0].nodes.push_back(node);
      }
      clos.take(taken);
      for (int link = 0; link < shape.uplinks_per_leaf(); ++link) {
        if (below(rng, 100) < blocked) clos.block_link(leaf, link);
      }
    }
    for (int hosts = 1; hosts <= clos.free_hosts(); ++hosts) {
      const auto found = clos.find(hosts);
      ASSERT_EQ(found.has_value(), brute_force_finds(clos, hosts)) << hosts;
      if (found) expect_sound(clos, *found, hosts);
      ++requests;
      feasible += found ? 1 : 0;
      // Greed alone may miss one, but finds none that is none.
      LogicalClos hurried = clos;
      hurried.set_search_budget(0);
      if (const auto greedy = hurried.find(hosts)) expect_sound(clos, *greedy, hosts);
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(feasible, requests / 4);
  EXPECT_LT(feasible, requests * 3 / 4);
}

RC_GTEST_PROP(LogicalClosProperty, ReleaseRestoresTheStateBitForBit, (std::uint64_t seed)) {
  SeededRng rng{seed};
  LogicalClos clos{{.leaves = 8, .hosts_per_leaf = 8, .spines = 4, .links_per_pair = 2}};
  const LogicalClos empty = clos;
  std::vector<Partition> jobs;
  for (int step = 0; step < 200; ++step) {
    if (!jobs.empty() && below(rng, 2) == 0) {
      const auto job = jobs.begin() + below(rng, static_cast<int>(jobs.size()));
      clos.release(*job);
      jobs.erase(job);
      continue;
    }
    const int hosts = 1 + below(rng, 30);
    const LogicalClos before = clos;
    const auto job = clos.find(hosts);
    RC_ASSERT(clos == before);
    if (!job) continue;
    expect_sound(clos, *job, hosts);
    clos.take(*job);
    LogicalClos undone = clos;
    undone.release(*job);
    RC_ASSERT(undone == before);
    jobs.push_back(*job);
  }
  for (const Partition& job : jobs) clos.release(job);
  RC_ASSERT(clos == empty);
  RC_ASSERT(!testing::Test::HasFailure());
}

// One step of a collective: who sends to whom, by rank.
using Step = std::vector<std::pair<int, int>>;

std::vector<Step> ring_steps(int ranks) {
  Step step;
  for (int rank = 0; rank < ranks; ++rank) step.emplace_back(rank, (rank + 1) % ranks);
  return {step};
}

std::vector<Step> halving_doubling_steps(int ranks) {
  std::vector<Step> steps;
  for (int distance = 1; distance < ranks; distance *= 2) {
    Step step;
    for (int rank = 0; rank < ranks; ++rank) step.emplace_back(rank, rank ^ distance);
    steps.push_back(step);
  }
  return steps;
}

std::vector<Step> rail_ring_steps(int ranks, int width) {
  Step step;
  for (int rank = 0; rank < ranks; ++rank) step.emplace_back(rank, (rank + width) % ranks);
  return {step};
}

std::vector<Step> shift_steps(int ranks) {
  std::vector<Step> steps;
  for (int shift = 1; shift < ranks; ++shift) {
    Step step;
    for (int rank = 0; rank < ranks; ++rank) step.emplace_back(rank, (rank + shift) % ranks);
    steps.push_back(step);
  }
  return steps;
}

std::vector<Step> exchange_steps(int ranks) {
  std::vector<Step> steps;
  for (int distance = 1; distance < ranks; ++distance) {
    Step step;
    for (int rank = 0; rank < ranks; ++rank) step.emplace_back(rank, rank ^ distance);
    steps.push_back(step);
  }
  return steps;
}

// The most flows of one step on one uplink or downlink. Ranks count through the nodes of one leaf
// after the other, without the paired ones, which talk inside their leaf only.
int most_flows_on_a_link(const Partition& partition, const std::vector<Step>& steps) {
  const int width = static_cast<int>(partition.spines.size());
  int most = 0;
  for (const Step& step : steps) {
    std::map<std::tuple<bool, int, int>, int> flows;
    for (const auto& [from, to] : step) {
      const LeafShare& source = partition.leaves[static_cast<std::size_t>(from / width)];
      const LeafShare& target = partition.leaves[static_cast<std::size_t>(to / width)];
      if (source.leaf == target.leaf) continue;
      const auto index = static_cast<std::size_t>(from % width);
      most = std::max(most, ++flows[{true, source.leaf, source.uplinks[index]}]);
      most = std::max(most, ++flows[{false, target.leaf, target.uplinks[index]}]);
    }
  }
  return most;
}

TEST(LogicalClos, KeepsEveryCollectiveFreeOfContention) {
  SeededRng rng{7};
  for (int round = 0; round < 20; ++round) {
    LogicalClos clos{{.leaves = 8, .hosts_per_leaf = 8, .spines = 8}};
    for (int leaf = 0; leaf < 8; ++leaf) {
      for (int spine = 0; spine < 8; ++spine) {
        if (below(rng, 4) == 0) clos.block_link(leaf, spine);
      }
    }
    for (const int hosts : {16, 24, 32, 64}) {
      const auto job = clos.find(hosts);
      if (!job || job->spines.empty()) continue;
      const int width = static_cast<int>(job->spines.size());
      const int ranks = width * static_cast<int>(job->leaves.size());
      EXPECT_EQ(most_flows_on_a_link(*job, ring_steps(ranks)), 1);
      EXPECT_EQ(most_flows_on_a_link(*job, halving_doubling_steps(ranks)), 1);
      EXPECT_EQ(most_flows_on_a_link(*job, rail_ring_steps(ranks, width)), 1);
      EXPECT_EQ(most_flows_on_a_link(*job, shift_steps(ranks)), 1);
      EXPECT_EQ(most_flows_on_a_link(*job, exchange_steps(ranks)), 1);
    }
  }
}

TEST(LogicalClos, PromisesNothingForFlowsInAnyOrder) {
  const LogicalClos clos{{.leaves = 4, .hosts_per_leaf = 2, .spines = 2}};
  const auto job = clos.find(8);
  ASSERT_EQ(job->leaves.size(), 4u);
  const Step same_index_to_one_leaf{{0, 4}, {2, 5}};
  EXPECT_EQ(most_flows_on_a_link(*job, {same_index_to_one_leaf}), 2);
}

}  // namespace
}  // namespace weir::network
