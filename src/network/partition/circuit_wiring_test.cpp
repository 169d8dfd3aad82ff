// SPDX-License-Identifier: Apache-2.0
#include "network/partition/circuit_wiring.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

TEST(CircuitWiring, LeavesOthersAloneWhileASwitchIsFreeAtBothEnds) {
  CircuitWiring wiring{4, 2, 4, 2};
  Disturbance disturbance;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(wiring.connect(JobId{1}, 0, 0, true, disturbance));
    ASSERT_TRUE(wiring.connect(JobId{2}, 1, 0, true, disturbance));
  }
  EXPECT_EQ(disturbance.circuits, 0);
  EXPECT_EQ(wiring.free_ports_of_leaf(0), 0);
  EXPECT_EQ(wiring.free_ports_of_spine(0), 0);
  EXPECT_FALSE(wiring.connect(JobId{3}, 2, 0, true, disturbance)) << "the spine has no port left";
}

TEST(CircuitWiring, ExchangesTwoSwitchesAlongOneChainWhereNoneIsFreeAtBothEnds) {
  // Two switches, one port each. Leaf 0 is left with switch 0, spine 1 with switch 1.
  CircuitWiring wiring{3, 3, 2, 1};
  Disturbance disturbance;
  ASSERT_TRUE(wiring.connect(JobId{1}, 1, 1, true, disturbance));  // switch 0
  ASSERT_TRUE(wiring.connect(JobId{2}, 2, 2, true, disturbance));
  ASSERT_TRUE(wiring.connect(JobId{3}, 0, 2, true, disturbance));  // switch 1: spine 2 has 0 in use
  const auto before = wiring.circuits();
  EXPECT_FALSE(wiring.connect(JobId{4}, 0, 1, false, disturbance)) << "nobody may be moved";
  EXPECT_EQ(wiring.circuits(), before);
  ASSERT_TRUE(wiring.connect(JobId{4}, 0, 1, true, disturbance));
  EXPECT_EQ(disturbance.circuits, 1) << "the shorter chain: leaf 1 to spine 1";
  EXPECT_EQ(disturbance.jobs, (std::set<JobId>{JobId{1}}));
}

TEST(CircuitWiring, UsesNoPortTwice) {
  CircuitWiring wiring{3, 1, 2, 2};
  EXPECT_TRUE(wiring.occupy(JobId{1}, 0, 0, 0));
  EXPECT_FALSE(wiring.occupy(JobId{2}, 0, 0, 0)) << "the leaf has one port at a switch";
  EXPECT_TRUE(wiring.occupy(JobId{2}, 0, 1, 0));
  EXPECT_FALSE(wiring.occupy(JobId{3}, 0, 2, 0)) << "the spine has two";
  EXPECT_EQ(wiring.circuits().size(), 2u);
}

RC_GTEST_PROP(CircuitWiringProperty, WiresEveryDemandThatPortsAllow, (std::uint64_t seed)) {
  SeededRng rng{seed};
  const auto below = [&](int bound) {
    return static_cast<int>(rng.below(static_cast<std::uint64_t>(bound)));
  };
  const int leaves = 1 + below(6);
  const int spines = 1 + below(4);
  const int switches = 1 + below(6);
  const int sides = 1 + below(3);
  CircuitWiring wiring{leaves, spines, switches, sides};
  std::map<std::pair<int, int>, int> demand;
  std::uint64_t job = 1;
  for (int step = 0; step < 150; ++step) {
    const int leaf = below(leaves);
    const int spine = below(spines);
    const bool has_ports =
        wiring.free_ports_of_leaf(leaf) > 0 && wiring.free_ports_of_spine(spine) > 0;
    const auto before = wiring.circuits();
    Disturbance disturbance;
    RC_ASSERT(wiring.connect(JobId{job}, leaf, spine, true, disturbance) == has_ports);
    if (has_ports) {
      ++(demand[{leaf, spine}]);
      ++job;
      // Was there a switch with a free port at both ends? Then nobody was moved.
      std::set<std::pair<int, int>> used_leaf;
      std::map<std::pair<int, int>, int> used_spine;
      for (const Circuit& circuit : before) {
        used_leaf.insert({circuit.optical_switch, circuit.leaf});
        ++(used_spine[{circuit.optical_switch, circuit.spine}]);
      }
      for (int k = 0; k < switches; ++k) {
        if (!used_leaf.contains({k, leaf}) && used_spine[{k, spine}] < sides)
          RC_ASSERT(disturbance.circuits == 0);
      }
    }
    std::map<std::pair<int, int>, int> wired;
    std::set<std::pair<int, int>> ports;
    std::map<std::pair<int, int>, int> spine_ports;
    for (const Circuit& circuit : wiring.circuits()) {
      ++(wired[{circuit.leaf, circuit.spine}]);
      RC_ASSERT(ports.insert({circuit.optical_switch, circuit.leaf}).second);
      RC_ASSERT(++(spine_ports[{circuit.optical_switch, circuit.spine}]) <= sides);
    }
    RC_ASSERT(wired == demand);  // flips keep every count
    const auto circuits = wiring.circuits();
    if (circuits.empty() || below(3) > 0) continue;
    const Circuit& gone = circuits[rng.below(circuits.size())];
    wiring.disconnect_all(gone.job);
    if (--(demand[{gone.leaf, gone.spine}]) == 0) demand.erase({gone.leaf, gone.spine});
  }
}

}  // namespace
}  // namespace weir::network
