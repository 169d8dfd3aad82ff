// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/network_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "domain/seeded_rng.h"
#include "network/coflow_window.h"

namespace weir::schedule {
namespace {

constexpr network::JobIteration kAllReduce{1, false, 0.3, 0, 0};
constexpr network::JobIteration kAllToAll{1, true, 0.07, 0.26, 0.02};

// Leaves of `nodes_per_leaf` nodes of 4 GPUs.
PoolNetwork pool_network(std::int32_t leaves, std::int32_t nodes_per_leaf, std::int32_t uplinks) {
  return {{PoolIndex{0}, leaves, nodes_per_leaf, uplinks, 1, 0}, 4, 1};
}

NetworkWish starts(std::uint64_t job, GpuBlock block,
                   const network::JobIteration& iteration = kAllToAll) {
  return {JobId{job}, kNoGpus, nullptr, block, iteration, 1000};
}

// It goes on as it was placed.
NetworkWish goes_on(const NetworkWish& wish, const NetworkPlace& place) {
  return {wish.job, place.block, place.links, place.block, wish.iteration, wish.left_seconds};
}

TEST(NetworkPlacement, MovesAJobToABlockThatNeedsFewerLinks) {
  const PoolNetwork network = pool_network(2, 3, 12);  // leaves of 12: a block of 8 may lie across
  const BlockMap closed{24};
  const NetworkWish wish = starts(1, {8, 8});
  const auto places =
      place_on_network(network, NetworkPlacement::isolated, closed, std::vector{wish}, 0);
  EXPECT_EQ(places[0].block, (GpuBlock{0, 8})) << "under one leaf";
  EXPECT_EQ(places[0].links, nullptr);
  const auto shared =
      place_on_network(network, NetworkPlacement::shared, closed, std::vector{wish}, 0);
  EXPECT_EQ(shared[0].block, wish.wanted) << "who shares stays where the policy wants it";
}

TEST(NetworkPlacement, AJobThatRunsIsMovedOnlyIfItMustBe) {
  const PoolNetwork network = pool_network(2, 3, 12);
  const BlockMap closed{24};
  NetworkWish runs = starts(1, {8, 8});
  runs.present = {8, 8};
  runs.links =
      std::make_shared<const LinkGrant>(LinkGrant{.use = LinkUse::own, .uplinks = {0, 1, 2, 3}});
  const auto places =
      place_on_network(network, NetworkPlacement::isolated, closed, std::vector{runs}, 0);
  EXPECT_EQ(places[0].block, runs.present);
  EXPECT_EQ(places[0].links, runs.links);
}

// Blocks of 16 on leaves of 12 need 4 or 8 uplinks of the leaves they share.
TEST(NetworkPlacement, HoldsBackWhoGetsNoLinksAndLetsOthersStay) {
  const PoolNetwork network = pool_network(4, 3, 4);
  const BlockMap closed{48};
  const std::vector<NetworkWish> wishes{starts(1, {0, 16}), starts(2, {16, 16}),
                                        starts(3, {32, 16})};
  const auto places = place_on_network(network, NetworkPlacement::isolated, closed, wishes, 0);
  EXPECT_FALSE(places[0].block.is_none());
  EXPECT_EQ(std::count_if(places.begin(), places.end(),
                          [](const NetworkPlace& place) { return place.is_held_back; }),
            1);
}

TEST(NetworkPlacement, WhoCannotGrowStaysAsItIs) {
  const PoolNetwork network = pool_network(4, 3, 4);
  const BlockMap closed{48};
  const NetworkWish large = starts(1, {0, 32});
  const auto first =
      place_on_network(network, NetworkPlacement::isolated, closed, std::vector{large}, 0);
  ASSERT_EQ(first[0].links->uplinks.size(), 4U) << "all of three leaves";
  NetworkWish grows = starts(2, {32, 16});  // the large one has all links of its first leaf
  grows.present = {40, 8};
  const auto places = place_on_network(network, NetworkPlacement::isolated, closed,
                                       std::vector{goes_on(large, first[0]), grows}, 0);
  EXPECT_EQ(places[1].block, grows.present);
  EXPECT_FALSE(places[1].is_held_back);
}

TEST(NetworkPlacement, SharesWhereWaitingWouldCostMore) {
  const PoolNetwork network = pool_network(4, 3, 8);
  const BlockMap closed{48};
  // The first owns 4 of 8 uplinks of leaves 0 and 1; the second would need 8 of leaf 1.
  const NetworkWish owner = starts(1, {0, 16});
  const auto first =
      place_on_network(network, NetworkPlacement::isolated, closed, std::vector{owner}, 0);
  ASSERT_EQ(first[0].links->uplinks.size(), 4U);
  BlockMap rest = closed;  // nowhere else to go
  rest.take({32, 16});
  for (const auto& [left, waits] : {std::pair{10.0, true}, std::pair{1e6, false}}) {
    NetworkWish runs = goes_on(owner, first[0]);
    runs.left_seconds = left;
    NetworkWish comes = starts(2, {16, 16});
    comes.left_seconds = 10'000;
    const auto places = place_on_network(network, NetworkPlacement::isolated_where_worth, rest,
                                         std::vector{runs, comes}, 0);
    EXPECT_EQ(places[1].is_held_back, waits) << "the first ends in " << left << " s";
    if (!waits) {
      EXPECT_EQ(places[1].links->use, LinkUse::shared);
    }
  }
}

TEST(NetworkPlacement, NobodyIsCutOffByLinksOfAnother) {
  const PoolNetwork network = pool_network(3, 3, 4);
  const BlockMap closed{36};
  const NetworkWish ring = starts(1, {0, 16}, {1, false, 0.01, 0, 0});
  const auto first = place_on_network(network, NetworkPlacement::isolated_where_worth, closed,
                                      std::vector{ring}, 0);
  ASSERT_EQ(first[0].links->use, LinkUse::shared) << "a ring hardly notices";
  const auto places =
      place_on_network(network, NetworkPlacement::isolated_where_worth, closed,
                       std::vector{goes_on(ring, first[0]), starts(2, {16, 16})}, 0);
  ASSERT_TRUE(places[1].links == nullptr || places[1].links->use == LinkUse::shared)
      << "all 4 uplinks of leaf 1 would leave the first no way";
}

// Four jobs on one uplink per leaf, each at it for 0.3 of its time with two others: they take turns.
TEST(NetworkPlacement, SharedJobsTakeTurns) {
  const PoolNetwork network = pool_network(4, 3, 1);
  const BlockMap closed{48};
  std::vector<NetworkWish> wishes{starts(1, {0, 16}, kAllReduce), starts(2, {16, 16}, kAllReduce),
                                  starts(3, {32, 16}, kAllReduce)};
  const auto places = place_on_network(network, NetworkPlacement::shared, closed, wishes, 0);
  std::vector<network::JobTraffic> traffic;
  std::vector<double> shifts;
  const LinkOwners nobody{4, 1};
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    traffic.push_back(
        traffic_of(network, nobody, places[i].block, *places[i].links, kAllReduce).traffic);
    shifts.push_back(std::chrono::duration<double>(places[i].links->shift).count());
  }
  std::vector<const network::JobTraffic*> jobs;
  for (const auto& each : traffic) jobs.push_back(&each);
  double in_turn = 0;
  for (const double seconds : network::play_window(jobs, 10, 1, shifts)) in_turn += seconds / 3;
  double by_chance = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    for (const double seconds : network::play_window(jobs, 10, seed)) by_chance += seconds / 150;
  }
  double at_once = 0;
  for (const double seconds : network::play_window(jobs, 1, 1, std::vector<double>(3)))
    at_once += seconds / 3;
  EXPECT_NEAR(in_turn, 1, 1e-9) << "as if alone";
  EXPECT_GT(by_chance, 1.005);
  EXPECT_GT(at_once, 1.15);
}

// Whatever is asked for: blocks stay disjoint and open, links and ports have one owner, those that keep
// their GPUs keep their links, and what is placed can be kept.
TEST(NetworkPlacementProperty, KeepsJobsApart) {
  std::int64_t own = 0;
  std::int64_t moved = 0;
  std::int64_t kept = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SeededRng rng{seed};
    const auto draw = [&](std::uint64_t below) { return rng.below(below); };
    const auto placement = static_cast<NetworkPlacement>(seed % 4);
    PoolNetwork network = pool_network(6, static_cast<std::int32_t>(1 + draw(3)),
                                       static_cast<std::int32_t>(1 + draw(12)));
    if (placement == NetworkPlacement::isolated_optical) network.fabric.spine_ports = 2;
    const std::uint32_t gpus = 6 * network.hosts_per_leaf();
    BlockMap closed{gpus};
    if (draw(2) == 0) closed.take({static_cast<std::uint32_t>(draw(gpus / 4)) * 4, 4});
    std::vector<NetworkWish> wishes;
    for (std::uint64_t round = 0; round < 8; ++round) {
      std::erase_if(wishes, [&](const NetworkWish&) { return draw(4) == 0; });  // some end
      BlockMap taken = closed;
      for (const NetworkWish& wish : wishes) taken.take(wish.present);
      for (std::uint64_t i = 0; i < 4; ++i) {
        const auto block = taken.best_fit(1U << draw(6));
        if (!block) continue;
        taken.take(*block);
        wishes.push_back(
            starts(10 * (round + 1) + i, *block, draw(2) == 0 ? kAllReduce : kAllToAll));
      }
      const auto places = place_on_network(network, placement, closed, wishes, 3);
      BlockMap now = closed;
      std::set<std::pair<int, int>> links;
      std::set<std::pair<int, int>> leaf_ports;
      std::map<std::pair<int, int>, int> spine_ports;
      std::vector<NetworkWish> next;
      for (std::size_t i = 0; i < wishes.size(); ++i) {
        const NetworkPlace& place = places[i];
        if (!wishes[i].present.is_none()) {
          ASSERT_EQ(place.block, wishes[i].present);
          ASSERT_TRUE(place.is_rewired || place.links == wishes[i].links);
          ++kept;
        }
        ASSERT_EQ(place.is_held_back, place.block.is_none());
        if (place.block.is_none()) continue;
        moved += place.block == wishes[i].wanted ? 0 : 1;
        ASSERT_EQ(place.block.size, wishes[i].wanted.size);
        ASSERT_TRUE(now.is_free(place.block));
        now.take(place.block);
        ASSERT_EQ(network.needs_links(place.block), place.links != nullptr);
        next.push_back(goes_on(wishes[i], place));
        if (place.links == nullptr) continue;
        ASSERT_TRUE(can_have(network, place.block, *place.links));
        own += place.links->use == LinkUse::shared ? 0 : 1;
        const LeafRange leaves = network.leaves_of(place.block);
        for (const std::int32_t uplink : place.links->uplinks) {
          for (int leaf = leaves.first; leaf <= leaves.last; ++leaf)
            ASSERT_TRUE(links.emplace(leaf, uplink).second) << "seed " << seed;
        }
        for (const OpticalCircuit& circuit : place.links->circuits) {
          const int at = circuit.optical_switch;
          ASSERT_TRUE(leaf_ports.emplace(at, circuit.leaf).second) << "seed " << seed;
          if (circuit.is_direct) {
            ASSERT_TRUE(leaf_ports.emplace(at, circuit.end).second) << "seed " << seed;
          } else {
            const int ports = ++spine_ports[{at, circuit.end}];
            ASSERT_LE(ports, network.fabric.spine_ports) << "seed " << seed;
          }
        }
      }
      wishes = std::move(next);
    }
  }
  EXPECT_GT(own, 1000);
  EXPECT_GT(moved, 100);
  EXPECT_GT(kept, 5000);
}

}  // namespace
}  // namespace weir::schedule
