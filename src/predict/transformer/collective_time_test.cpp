// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/collective_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace weir::predict {
namespace {

Fabric fabric_of(int gpus_per_node) {
  return {gpus_per_node, 400e9, 25e9, gpus_per_node};
}

TEST(CollectiveTime, IsTheRingFormula) {
  const Fabric fabric{8, 200e9, 25e9, 4};
  // On a node: 7/8 of the bytes, 7 hops.
  EXPECT_DOUBLE_EQ(all_gather_seconds(fabric, {8, 1}, 8e9), 7e9 / 200e9 + 14e-6 + 7 * 1.9e-6);
  // Two nodes, all GPUs in one ring: 100 GB/s of the node, 14 hops inside and one between.
  EXPECT_DOUBLE_EQ(all_gather_seconds(fabric, {16, 1}, 16e9),
                   15e9 / 100e9 + 14e-6 + 14 * 1.9e-6 + 4e-6);
  // Two ranks a node apart: eight such groups share the network.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(fabric, {2, 8}, 2e9), 2 * (1e9 / 12.5e9 + 14e-6 + 4e-6));
  EXPECT_EQ(all_gather_seconds(fabric, {1, 1}, 1e9), 0);
  // All-to-all over two nodes: half of what each of the eight GPUs has leaves.
  EXPECT_DOUBLE_EQ(all_to_all_seconds(fabric, {16, 1}, 1e9), 4e9 / 100e9 + 18e-6);
}

// Looks at every group of all ranks.
GroupPlace looked_up(int node, RankGroup group) {
  const int block = group.size * group.stride;
  const int ranks = std::lcm(block, node);
  GroupPlace worst;
  std::vector<int> leaving(static_cast<std::size_t>(ranks / node));
  for (int base = 0; base < ranks; base += block) {
    for (int offset = 0; offset < group.stride; ++offset) {
      std::set<int> nodes;
      for (int i = 0; i < group.size; ++i) nodes.insert((base + offset + i * group.stride) / node);
      worst.nodes = std::max(worst.nodes, static_cast<int>(nodes.size()));
      if (nodes.size() == 1) continue;
      for (const int one : nodes) ++leaving[static_cast<std::size_t>(one)];
    }
  }
  worst.leaving = *std::max_element(leaving.begin(), leaving.end());
  return worst;
}

RC_GTEST_PROP(CollectivePlace, IsThatOfTheWorstOfAllGroups, ()) {
  const int node = *rc::gen::element(1, 2, 4, 6, 8, 16);
  const RankGroup group{*rc::gen::inRange(1, 30), *rc::gen::inRange(1, 20)};
  const GroupPlace place = placed(fabric_of(node), group);
  const GroupPlace seen = looked_up(node, group);
  RC_ASSERT(place.nodes >= seen.nodes);
  RC_ASSERT((place.nodes == 1) == (seen.nodes == 1));
  RC_ASSERT(place.leaving >= seen.leaving);
  RC_ASSERT(place.members >= 1);
  RC_ASSERT(place.members <= group.size);
  // Exact where ranks stand evenly, as in nearly all plans.
  if (node % group.stride != 0 && group.stride % node != 0) return;
  RC_ASSERT(place.nodes == seen.nodes);
  if ((group.size * group.stride) % node == 0 || node % (group.size * group.stride) == 0)
    RC_ASSERT(place.leaving == seen.leaving);
}

TEST(CollectivePlace, OfGroupsOfThreeOnNodesOfEightCrossesNodes) {
  const Fabric fabric = fabric_of(8);
  EXPECT_EQ(placed(fabric, {3, 1}).nodes, 2);
  EXPECT_EQ(placed(fabric, {6, 1}).nodes, 2);
  EXPECT_EQ(placed(fabric, {12, 1}).nodes, 2);
  EXPECT_EQ(placed(fabric, {4, 1}).nodes, 1);
  EXPECT_EQ(placed(fabric, {4, 2}).nodes, 1);
  EXPECT_EQ(placed(fabric, {16, 1}).nodes, 2);
  EXPECT_EQ(placed(fabric, {16, 1}).members, 8);
  EXPECT_EQ(placed(fabric, {4, 8}).members, 1);
  EXPECT_EQ(placed(fabric, {4, 8}).leaving, 8);
}

// A slower network never makes anything faster, and what crosses nodes feels it.
RC_GTEST_PROP(CollectivePlace, WhatCrossesNodesFeelsTheNetwork, ()) {
  Fabric fabric = fabric_of(*rc::gen::element(1, 2, 4, 6, 8));
  const RankGroup group{*rc::gen::inRange(2, 30), *rc::gen::inRange(1, 20)};
  const auto times = [&](double nic) {
    fabric.nic_bytes_s = nic;
    return std::vector<double>{all_gather_seconds(fabric, group, 1e9),
                               all_to_all_seconds(fabric, group, 1e9),
                               broadcast_seconds(fabric, group, 1e9)};
  };
  const auto fast = times(25e9);
  const auto slow = times(1e6);
  const bool crosses = placed(fabric, group).nodes > 1;
  for (std::size_t i = 0; i < fast.size(); ++i)
    RC_ASSERT((crosses ? slow[i] > 10 * fast[i] : slow[i] == fast[i]));
}

}  // namespace
}  // namespace weir::predict
