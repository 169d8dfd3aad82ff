// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/node_power.h"

#include <gtest/gtest.h>

#include "schedule/place/policies.h"
#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// Model 0 is a T4, model 1 a V100.
const GpuSupply kT4AndV100{{MilliGpu{1000}, MilliGpu{1000}}, MilliGpu{2000}, {"T4", "V100M32"}};

// The nodes that `empty` says, when nothing runs; the first is asked about.
NodePower power_beside(const NodeState& empty) {
  return NodePower{kT4AndV100, std::span{&empty, 1}};
}
const NodeIndex kFirstNode{0};

TEST(NodePower, AnIdleNodeDrawsWhatItsPartsDrawIdle) {
  // 96 virtual CPUs are 48 cores, two sockets of 24: 2 x 10 + 2 x 20.
  const NodeState node = a_node().cpu(96).free({1000, 1000});
  EXPECT_EQ(power_beside(node).watts(kFirstNode, node), 60);
}

TEST(NodePower, AGpuWithAnyTaskAndASocketWithAnyBusyCoreDrawTheirFullPower) {
  const NodePower power = power_beside(a_node().cpu(96).free({1000, 1000}));
  // One T4 in use, one idle; 1 of 96 virtual CPUs busy: one socket.
  EXPECT_EQ(power.watts(kFirstNode, a_node().cpu(95).free({990, 1000})), 70 + 10 + 165 + 20);
  // 49 virtual CPUs are more than the 24 cores of a socket.
  EXPECT_EQ(power.watts(kFirstNode, a_node().cpu(47).free({0, 0})), 2 * 70 + 2 * 165);
}

TEST(NodePower, KnowsModelsByHowTheirNamesBegin) {
  EXPECT_EQ(hardware_watts("V100M32").gpu_full, 300);
  EXPECT_EQ(hardware_watts("A100-SXM4-80GB").gpu_full, 400);
  EXPECT_EQ(hardware_watts("A10").gpu_full, 150);
  EXPECT_EQ(hardware_watts("G3").gpu_full, 400);
  EXPECT_EQ(hardware_watts("something else").gpu_full, 400);
  EXPECT_EQ(hardware_watts("").gpu_full, 0);
}

TEST(NodePower, ATaskOnAGpuInUseAddsNothingForIt) {
  const NodePower power = power_beside(a_node().cpu(96).free({1000, 1000}).model(1));
  const NodeState node = a_node().cpu(90).free({500, 1000}).model(1);
  EXPECT_EQ(power.increase(kFirstNode, node, a_task().cpu(1).share(500)), 0);
  EXPECT_EQ(power.increase(kFirstNode, node, a_task().cpu(1).share(501)), 270);
  EXPECT_EQ(power.increase(kFirstNode, node, a_task().cpu(1).gpus(1)), 270);
  // V100 nodes have 16 cores a socket: 6 + 27 virtual CPUs need a second one.
  EXPECT_EQ(power.increase(kFirstNode, node, a_task().cpu(27)), 165);
}

TEST(Pwr, TakesAGpuInUseBeforeAFreeOne) {
  const TargetWorkload target;
  const std::vector<NodeClass> classes;
  const auto pwr = find_placement_policy("pwr")->prepare(Outlook{target, kT4AndV100, classes});
  EXPECT_EQ(pwr->choose_gpus(a_node().free({1000, 100, 600, 500}), a_task().share(500), 0),
            gpus({2}));
  EXPECT_EQ(pwr->choose_gpus(a_node().free({1000, 100, 600}), a_task().share(700), 0), gpus({0}));
  EXPECT_EQ(pwr->choose_gpus(a_node().free({100, 1000, 1000}), a_task().gpus(2), 0), gpus({1, 2}));
}

}  // namespace
}  // namespace weir::schedule
