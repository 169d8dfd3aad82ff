// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/pool_network.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir::schedule {
namespace {

PoolNetwork network_of(std::int32_t leaves, std::int32_t nodes_per_leaf, std::int32_t spines,
                       std::uint32_t gpus) {
  return {{PoolIndex{0}, leaves, nodes_per_leaf, spines, 1, 0}, gpus, 1};
}

LinkGrant own(std::vector<std::int32_t> uplinks) {
  return {.use = LinkUse::own, .uplinks = std::move(uplinks)};
}

TEST(PoolNetwork, KnowsWhichLeavesABlockHas) {
  const PoolNetwork network = network_of(4, 3, 12, 4);  // leaves of 12
  EXPECT_EQ(network.leaves_of({0, 8}).count(), 1);
  EXPECT_FALSE(network.needs_links({8, 4}));
  EXPECT_TRUE(network.needs_links({8, 8}));
  EXPECT_FALSE(network.needs_links(kNoGpus));
  const GpuBlock across{16, 16};  // 8 under leaf 1, 8 under leaf 2
  EXPECT_EQ(network.leaves_of(across).first, 1);
  EXPECT_EQ(network.leaves_of(across).last, 2);
  EXPECT_EQ(network.hosts_under(across, 1), 8U);
  EXPECT_EQ(network.hosts_under(across, 2), 8U);
  EXPECT_EQ(network.hosts_under(across, 0), 0U);
}

TEST(PoolNetwork, NeedsNoMoreUplinksThanCanBeUsedAtOnce) {
  const PoolNetwork network = network_of(4, 3, 12, 4);
  EXPECT_EQ(network.uplinks_for({0, 16}), 4) << "12 + 4: four can cross";
  EXPECT_EQ(network.uplinks_for({16, 16}), 8) << "8 + 8";
  EXPECT_EQ(network.uplinks_for({0, 32}), 12) << "12 + 12 + 8";
  EXPECT_EQ(network_of(4, 3, 5, 4).uplinks_for({16, 16}), 5) << "a leaf has no more";
}

TEST(PoolNetwork, RefusesLinksThatAreNone) {
  const PoolNetwork network = network_of(4, 2, 8, 4);
  const GpuBlock block{0, 16};
  EXPECT_TRUE(can_have(network, block, LinkGrant{}));
  EXPECT_TRUE(can_have(network, block, own({0, 7})));
  EXPECT_FALSE(can_have(network, block, own({8}))) << "there are 8";
  EXPECT_FALSE(can_have(network, block, own({-1})));
  EXPECT_FALSE(can_have(network, block, own({3, 3}))) << "twice";
  EXPECT_FALSE(can_have(network, block, own({})));
  EXPECT_FALSE(can_have(network, {0, 8}, own({1}))) << "under one leaf";
  EXPECT_FALSE(can_have(network, {32, 32}, LinkGrant{})) << "beyond the fabric";
  const LinkGrant circuits{.use = LinkUse::circuits, .circuits = {{0, 0, 1, true}}};
  EXPECT_FALSE(can_have(network, block, circuits)) << "its links are fixed";
}

TEST(PoolNetwork, RefusesACircuitThatIsUsedTwice) {
  PoolNetwork network = network_of(4, 2, 4, 4);
  network.fabric.spine_ports = 1;
  const GpuBlock block{0, 16};
  const auto fits = [&](std::vector<OpticalCircuit> circuits) {
    return can_have(network, block, {.use = LinkUse::circuits, .circuits = std::move(circuits)});
  };
  EXPECT_TRUE(fits({{0, 0, 1, true}, {1, 0, 3, false}, {1, 1, 2, false}}));
  EXPECT_FALSE(fits({{0, 0, 1, true}, {0, 0, 2, false}})) << "a leaf's port twice";
  EXPECT_FALSE(fits({{0, 0, 1, true}, {0, 1, 2, false}})) << "the other end's port";
  EXPECT_FALSE(fits({{0, 0, 2, false}, {0, 1, 2, false}})) << "a spine's port twice";
  EXPECT_FALSE(fits({{8, 0, 2, false}})) << "there are 8 switches";
  EXPECT_FALSE(fits({{0, 2, 2, false}})) << "a leaf of others";
  EXPECT_FALSE(fits({{0, 0, 4, false}})) << "there are 4 spines";
  EXPECT_FALSE(fits({{0, 0, 0, true}})) << "to itself";
  EXPECT_FALSE(can_have(network, block, LinkGrant{})) << "there are no links to share";
}

// Blocks of whole leaves, routes by sender: no two flows of any collective on one link in any step.
TEST(PoolNetwork, OwnLinksOfWholeLeavesCarryOneFlowEach) {
  for (const std::uint32_t gpus : {1U, 4U, 8U}) {
    const PoolNetwork network = network_of(8, 2, static_cast<std::int32_t>(2 * gpus), gpus);
    for (std::uint32_t size = 4 * gpus; size <= 16 * gpus; size *= 2) {
      LinkOwners owners{8, network.fabric.uplinks()};
      const GpuBlock block{16 * gpus - size, size};
      const auto uplinks = owners.find(network.leaves_of(block), network.uplinks_for(block));
      ASSERT_TRUE(uplinks);
      for (const bool halves : {false, true}) {
        const network::JobIteration iteration{1, halves, 0.2, 0.3, 0.1};
        const auto routed = traffic_of(network, owners, block, own(*uplinks), iteration);
        EXPECT_FALSE(routed.traffic.phases.empty());
        for (const network::TrafficPhase& phase : routed.traffic.phases) {
          EXPECT_EQ(phase.rate, 1);
          for (const network::LinkLoad& load : phase.loads) EXPECT_EQ(load.flows, 1);
        }
      }
    }
  }
}

TEST(PoolNetwork, SharedRoutesAvoidLinksThatSomebodyOwns) {
  const PoolNetwork network = network_of(4, 2, 8, 4);
  LinkOwners owners{4, 8};
  owners.take(JobId{9}, {1, 2}, {0, 1, 2, 3, 4, 5, 6});
  const network::JobIteration iteration{1, false, 0, 0.5, 0};
  const auto routed = traffic_of(network, owners, {0, 16}, LinkGrant{}, iteration);
  EXPECT_TRUE(routed.is_connected);
  for (const network::LinkLoad& demand : routed.traffic.demands)
    EXPECT_EQ(demand.link % 8, 7) << "the only uplink that is left";
  owners.take(JobId{8}, {1, 1}, {7});
  EXPECT_FALSE(owners.are_connected({0, 1}));
  EXPECT_FALSE(traffic_of(network, owners, {0, 16}, LinkGrant{}, iteration).is_connected);
}

TEST(PoolNetwork, TakesTheTrafficOfAModelOrOfTheOthers) {
  NetworkTerms terms;
  EXPECT_EQ(iteration_of(terms, "a", 2).all_reduce, 0);
  terms.kinds = {{"", 100'000, 0, 0, false}, {"a", 0, 250'000, 0, true}};
  EXPECT_EQ(iteration_of(terms, "a", 2).all_to_all, 0.25);
  EXPECT_EQ(iteration_of(terms, "b", 2).all_reduce, 0.1);
  EXPECT_EQ(iteration_of(terms, "b", 2).iteration_seconds, 2);
}

RC_GTEST_PROP(LinkOwnersProperty, WhatIsReleasedIsAsBefore, ()) {
  LinkOwners owners{6, 8};
  struct Held {
    JobId job;
    LeafRange leaves;
    std::vector<std::int32_t> uplinks;
  };
  std::vector<Held> held;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    const int first = *rc::gen::inRange(0, 5);
    const LeafRange leaves{first, *rc::gen::inRange(first + 1, 6)};
    const int count = *rc::gen::inRange(1, 6);
    const LinkOwners before = owners;
    int free = 0;
    for (int uplink = 0; uplink < 8; ++uplink) {
      bool is_open = true;
      for (int leaf = leaves.first; leaf <= leaves.last; ++leaf)
        is_open = is_open && owners.is_free(leaf, uplink);
      free += is_open ? 1 : 0;
    }
    const auto found = owners.find(leaves, count);
    RC_ASSERT(found.has_value() == (free >= count));
    if (!found) continue;
    owners.take(JobId{id}, leaves, *found);
    LinkOwners after = owners;
    after.release(JobId{id}, leaves, *found);
    RC_ASSERT(after == before);
    held.push_back({JobId{id}, leaves, *found});
  }
  for (const Held& mine : held) owners.release(mine.job, mine.leaves, mine.uplinks);
  RC_ASSERT(owners == LinkOwners(6, 8));
}

}  // namespace
}  // namespace weir::schedule
