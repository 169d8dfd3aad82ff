// SPDX-License-Identifier: Apache-2.0
#include "network/fabric.h"

#include <gtest/gtest.h>

#include "network/route_table.h"

namespace weir::network {
namespace {

std::size_t count_kind(const Fabric& fabric, VertexKind kind) {
  std::size_t count = 0;
  for (const Vertex& vertex : fabric.vertices) count += vertex.kind == kind ? 1 : 0;
  return count;
}

std::vector<LinkIndex> first_path(const Fabric& fabric, GpuIndex from, GpuIndex to) {
  std::vector<LinkIndex> path;
  const RouteTable table{fabric};
  EXPECT_TRUE(table.find_path(from, to, path, [](auto, auto, auto) { return 0U; }));
  return path;
}

TEST(Fabric, LeafSpineHasALinkForEveryLeafAndSpine) {
  const auto fabric = build_fabric(leaf_spine_spec(4, 8, 3));
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->gpus(), 32U);
  EXPECT_EQ(fabric->links.size(), 2U * (32 + 4 * 3));
  EXPECT_EQ(first_path(*fabric, 0, 7).size(), 2U);
  EXPECT_EQ(first_path(*fabric, 0, 8).size(), 4U);
  const RouteTable table{*fabric};
  EXPECT_EQ(table.next_links(fabric->ports[0].leaf, fabric->ports[8].leaf).size(), 3U);
}

TEST(Fabric, GpusOfANodeMeetInsideIt) {
  auto spec = leaf_spine_spec(2, 8, 2);
  spec.gpus_per_node = 4;
  const auto fabric = build_fabric(spec);
  ASSERT_TRUE(fabric);
  EXPECT_EQ(count_kind(*fabric, VertexKind::node_switch), 4U);
  const auto inside = first_path(*fabric, 0, 3);
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(fabric->links[inside[0]].capacity, spec.local.value);
  EXPECT_EQ(fabric->links[first_path(*fabric, 0, 4)[0]].capacity, spec.nic.value);
}

TEST(Fabric, FatTreeHasAsManyCoresAsItsPortsSay) {
  FabricSpec spec;
  spec.kind = FabricKind::fat_tree;
  spec.ports = 4;
  const auto fabric = build_fabric(spec);
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->gpus(), 16U);
  EXPECT_EQ(count_kind(*fabric, VertexKind::core), 4U);
  EXPECT_EQ(first_path(*fabric, 0, 1).size(), 2U);
  EXPECT_EQ(first_path(*fabric, 0, 2).size(), 4U);
  EXPECT_EQ(first_path(*fabric, 0, 15).size(), 6U);
}

TEST(Fabric, ARailJoinsTheSameGpuOfEveryNode) {
  FabricSpec spec;
  spec.kind = FabricKind::rail;
  spec.pods = 2;
  spec.nodes_per_pod = 3;
  spec.gpus_per_node = 4;
  spec.spines = 2;
  const auto fabric = build_fabric(spec);
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->gpus(), 24U);
  // GPU 1 of nodes 0 and 1 are on one leaf; GPU 0 and 1 of different nodes meet in a spine.
  EXPECT_EQ(first_path(*fabric, 1, 5).size(), 2U);
  EXPECT_EQ(first_path(*fabric, 0, 5).size(), 4U);
  EXPECT_EQ(first_path(*fabric, 1, 13).size(), 4U);
}

TEST(Fabric, CircuitsJoinLeavesDirectlyOrOverASpine) {
  FabricSpec spec;
  spec.kind = FabricKind::optical;
  spec.leaves = 3;
  spec.gpus_per_leaf = 2;
  spec.spines = 1;
  spec.optical_switches = 2;
  spec.spine_ports = 2;
  spec.circuits = {{0, 0, 0, false}, {0, 1, 0, false}, {1, 1, 2, true}};
  const auto fabric = build_fabric(spec);
  ASSERT_TRUE(fabric);
  EXPECT_EQ(first_path(*fabric, 0, 2).size(), 4U);
  EXPECT_EQ(first_path(*fabric, 2, 4).size(), 3U);
}

TEST(Fabric, RefusesGpusThatCannotReachEachOther) {
  FabricSpec spec;
  spec.kind = FabricKind::optical;
  spec.leaves = 3;
  spec.gpus_per_leaf = 2;
  spec.circuits = {{0, 0, 1, true}};
  const auto fabric = build_fabric(spec);
  ASSERT_FALSE(fabric);
  EXPECT_EQ(to_string(fabric.error().details),
            "fabric is \"2 of 6 GPUs that gpu 0 cannot reach, the first is gpu 4\", expected links "
            "or circuits that join all of them\n");
}

TEST(Fabric, ListedGpusHaveOneLinkEach) {
  FabricSpec spec;
  spec.kind = FabricKind::links;
  spec.gpus = {"a", "b", "c"};
  spec.links = {{"a", "s", spec.nic}, {"b", "s", spec.nic}, {"a", "t", spec.nic}};
  const auto fabric = build_fabric(spec);
  ASSERT_FALSE(fabric);
  EXPECT_EQ(fabric.error().details.total(), 2U);
  spec.links = {
      {"a", "s", spec.nic}, {"t", "b", spec.nic}, {"s", "t", spec.nic}, {"c", "t", spec.nic}};
  const auto mended = build_fabric(spec);
  ASSERT_TRUE(mended);
  const auto path = first_path(*mended, 0, 1);
  ASSERT_EQ(path.size(), 3U);
  EXPECT_EQ(mended->link_name(path[0]), "a > s");
  EXPECT_EQ(mended->link_name(path[2]), "t > b");
}

TEST(Fabric, RefusesWhatIsTooLargeOrEmpty) {
  EXPECT_FALSE(build_fabric(leaf_spine_spec(0, 8, 3)));
  EXPECT_FALSE(build_fabric(leaf_spine_spec(100'000, 100, 3)));
}

}  // namespace
}  // namespace weir::network
