// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/cluster_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

Cluster three_nodes() {
  return cluster_of({listed_node(1, 96, 8), listed_node(2, 8, 2), listed_node(3, 96, 0)});
}

TEST(NodeOrder, APermutationDependsOnTheSeedAndTheNamesNotOnTheListing) {
  Cluster cluster = cluster_of_distinct_nodes(50);
  const auto names_in = [](const Cluster& c, const std::vector<std::uint32_t>& order) {
    std::vector<std::string> names;
    for (const std::uint32_t at : order) names.push_back(c.nodes[at].name);
    return names;
  };
  const auto before = names_in(cluster, permuted_order(cluster, 7));
  EXPECT_NE(before, names_in(cluster, permuted_order(cluster, 8)));
  std::reverse(cluster.nodes.begin(), cluster.nodes.end());
  EXPECT_EQ(before, names_in(cluster, permuted_order(cluster, 7)));
}

TEST(NodeOrder, CpuPerGpuPutsGpuRichNodesFirstAndCpuNodesLast) {
  EXPECT_EQ(cpu_per_gpu_order(three_nodes()),
            (std::vector<std::uint32_t>{1, 0, 2}));  // 4, 12 cores per GPU, no GPU
}

TEST(ClusterLayout, KnowsSupplyAndClasses) {
  const Cluster cluster =
      cluster_of({listed_node(1, 96, 8), listed_node(2, 96, 8), listed_node(3, 8, 1, 2)});
  const ClusterLayout layout = make_layout(cluster, listed_order(cluster));
  EXPECT_EQ(layout.supply.total, MilliGpu{17'000});
  EXPECT_EQ(layout.supply.by_model[0], MilliGpu{16'000});
  EXPECT_EQ(layout.supply.by_model[2], MilliGpu{1'000});
  ASSERT_EQ(layout.classes.size(), 2U);
  EXPECT_EQ(layout.classes[0].count, 2);
  EXPECT_EQ(layout.index_of.at(NodeId{3}), NodeIndex{2});
}

TEST(ClusterLayout, RoomWhenEmptyCountsWholeTasksPerNode) {
  const Cluster cluster = three_nodes();
  const ClusterLayout layout = make_layout(cluster, listed_order(cluster));
  EXPECT_EQ(layout.room_when_empty(a_task().cpu(1).gpus(4), 100), 2);
  EXPECT_EQ(layout.room_when_empty(a_task().cpu(1).share(400), 100), 20);  // 2 per GPU
  EXPECT_EQ(layout.room_when_empty(a_task().cpu(5).share(400), 100), 17);  // 16 of 19 by CPU, and 1
  EXPECT_EQ(layout.room_when_empty(a_task().cpu(96), 100), 2);
  EXPECT_EQ(layout.room_when_empty(a_task().cpu(97), 100), 0);
  EXPECT_EQ(layout.room_when_empty(a_task().cpu(1).gpus(1), 3), 3);  // counted up to the limit
}

}  // namespace
}  // namespace weir::schedule
