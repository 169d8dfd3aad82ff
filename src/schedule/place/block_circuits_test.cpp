// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/block_circuits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::schedule {
namespace {

PoolNetwork optical(std::int32_t leaves, std::int32_t nodes_per_leaf, std::int32_t spines,
                    std::int32_t ports) {
  return {{PoolIndex{0}, leaves, nodes_per_leaf, spines, 1, ports}, 4, 1};
}

TEST(BlockCircuits, JoinsTwoLeavesWithoutASpine) {
  const PoolNetwork network = optical(4, 2, 2, 2);
  network::CircuitWiring wiring = no_circuits(network);
  ASSERT_TRUE(wire(wiring, network, JobId{1}, {0, 16}));
  const auto circuits = circuits_by_job(wiring).at(JobId{1});
  EXPECT_EQ(circuits.size(), 8U);
  for (const OpticalCircuit& circuit : circuits) EXPECT_TRUE(circuit.is_direct);
}

TEST(BlockCircuits, SpreadsALargeJobOverSpinesWithEnoughPorts) {
  const PoolNetwork network = optical(4, 2, 2, 2);  // spines of 16 ports
  network::CircuitWiring wiring = no_circuits(network);
  ASSERT_TRUE(wire(wiring, network, JobId{1}, {0, 32}));
  EXPECT_EQ(wiring.free_ports_of_spine(0), 0);
  EXPECT_EQ(wiring.free_ports_of_spine(1), 0);
  for (int leaf = 0; leaf < 4; ++leaf) EXPECT_EQ(wiring.free_ports_of_leaf(leaf), 0);
}

TEST(BlockCircuits, ChangesNothingWhereThereAreNoPorts) {
  const PoolNetwork network = optical(4, 2, 1, 1);  // 8 ports in all
  network::CircuitWiring wiring = no_circuits(network);
  const network::CircuitWiring before = wiring;
  EXPECT_FALSE(wire(wiring, network, JobId{1}, {0, 32}));
  EXPECT_EQ(wiring, before);
}

// Whatever was wired before: others keep as many circuits, what is handed out can be had, and held again
// it is the same.
TEST(BlockCircuitsProperty, WiresWithoutTakingFromOthers) {
  int wired = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SeededRng rng{seed};
    const PoolNetwork network = optical(6, static_cast<std::int32_t>(1 + rng.below(3)),
                                        static_cast<std::int32_t>(1 + rng.below(6)),
                                        static_cast<std::int32_t>(1 + rng.below(2)));
    const std::uint32_t hosts = 6 * network.hosts_per_leaf();
    network::CircuitWiring wiring = no_circuits(network);
    std::map<JobId, GpuBlock> jobs;
    for (std::uint64_t id = 1; id <= 20; ++id) {
      if (!jobs.empty() && rng.below(3) == 0) {
        const auto leaving =
            std::next(jobs.begin(), static_cast<std::ptrdiff_t>(rng.below(jobs.size())));
        wiring.disconnect_all(leaving->first);
        jobs.erase(leaving);
      }
      const std::uint32_t size = 1U << (2 + rng.below(5));
      if (size > hosts) continue;
      const GpuBlock block{static_cast<std::uint32_t>(rng.below(hosts / size)) * size, size};
      const bool is_free = std::none_of(jobs.begin(), jobs.end(), [&](const auto& other) {
        return other.second.overlaps(block);
      });
      if (!is_free || !network.needs_links(block)) continue;
      const auto before = circuits_by_job(wiring);
      const network::CircuitWiring was = wiring;
      if (!wire(wiring, network, JobId{id}, block)) {
        ASSERT_EQ(wiring, was);
        continue;
      }
      ++wired;
      jobs[JobId{id}] = block;
      const auto after = circuits_by_job(wiring);
      for (const auto& [job, circuits] : before) ASSERT_EQ(after.at(job).size(), circuits.size());
      for (const auto& [job, circuits] : after) {
        const LinkGrant links{.use = LinkUse::circuits, .circuits = circuits};
        ASSERT_TRUE(can_have(network, jobs.at(job), links)) << "seed " << seed;
      }
      network::CircuitWiring again = no_circuits(network);
      for (const auto& [job, circuits] : after) hold_circuits(again, job, circuits);
      ASSERT_EQ(circuits_by_job(again), after) << "seed " << seed;
    }
  }
  EXPECT_GT(wired, 1000);
}

}  // namespace
}  // namespace weir::schedule
