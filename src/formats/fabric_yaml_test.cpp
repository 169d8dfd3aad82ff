// SPDX-License-Identifier: Apache-2.0
#include "formats/fabric_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/network_mix_yaml.h"

namespace weir::formats {
namespace {

using ::testing::HasSubstr;

Result<FabricSpec> fabric_in(const std::string& text) {
  return read_fabric_yaml(*InputFile::from_memory("hall.yaml", text));
}

std::string fabric_mistakes(const std::string& text) {
  const auto spec = fabric_in(text);
  return spec ? "" : to_string(spec.error().details);
}

TEST(FabricYaml, ReadsEveryKind) {
  const auto leaf_spine = fabric_in(
      "fabric: {kind: leaf-spine, leaves: 4, gpus_per_leaf: 8, spines: 2, parallel_links: 2, "
      "gpus_per_node: 4, nic: 200Gbps, uplink: 400Gbps, local: 450GB/s}");
  ASSERT_TRUE(leaf_spine);
  EXPECT_EQ(leaf_spine->name, "hall");
  EXPECT_EQ(leaf_spine->parallel_links, 2);
  EXPECT_EQ(leaf_spine->uplink, gigabits_per_second(400));
  const auto tree = fabric_in("fabric: {kind: fat-tree, ports: 8, nic: 50GB/s}");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->uplink, tree->nic);
  const auto rail = fabric_in("fabric: {kind: rail, pods: 2, nodes_per_pod: 4, spines: 2}");
  ASSERT_TRUE(rail);
  EXPECT_EQ(rail->gpus_per_node, 8);
  const auto optical = fabric_in(
      "fabric:\n  kind: optical\n  leaves: 2\n  gpus_per_leaf: 2\n  spines: 1\n"
      "  optical_switches: 2\n  spine_ports: 2\n"
      "  circuits: [{switch: 0, leaf: 0, spine: 0}, {switch: 0, leaf: 1, spine: 0}, "
      "{switch: 1, leaf: 0, to_leaf: 1}]");
  ASSERT_TRUE(optical);
  EXPECT_EQ(optical->circuits.size(), 3U);
  EXPECT_TRUE(optical->circuits[2].is_direct);
  const auto bare = fabric_in(
      "fabric: {kind: optical, leaves: 2, gpus_per_leaf: 2, spines: 1, optical_switches: 2}\n");
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->circuits.empty()) << "none is made yet";
  const auto links = fabric_in(
      "fabric: {kind: links, gpus: [a, b], links: [{from: a, to: s, rate: 1Gbps}, {from: s, to: b, "
      "rate: 1Gbps}]}");
  ASSERT_TRUE(links);
  EXPECT_EQ(links->links[1].to, "b");
}

TEST(FabricYaml, TellsEveryMistakeWithItsLine) {
  const std::string told = fabric_mistakes(
      "fabric:\n  kind: leaf-spine\n  leaves: 0\n  gpus_per_leaf: 10\n  spines: 4\n"
      "  gpus_per_node: 4\n  nic: -100Gbps\n  colour: red\n");
  EXPECT_THAT(told, HasSubstr("hall.yaml:3: leaves is \"0\", expected"));
  EXPECT_THAT(told, HasSubstr("hall.yaml:4: gpus_per_leaf is \"10\", expected a multiple of"));
  EXPECT_THAT(told, HasSubstr("hall.yaml:7: nic is \"-100Gbps\", expected a speed"));
  EXPECT_THAT(told, HasSubstr("hall.yaml:8: "));
}

TEST(FabricYaml, AnUnknownKindIsNamed) {
  EXPECT_EQ(fabric_mistakes("fabric:\n  kind: torus\n"),
            "hall.yaml:2: kind is \"torus\", expected one of leaf-spine, fat-tree, rail, optical, "
            "links\n");
  EXPECT_THAT(fabric_mistakes("fabric: {leaves: 3}"), HasSubstr("kind"));
}

TEST(FabricYaml, ACircuitUsesAPortOnce) {
  const std::string told = fabric_mistakes(
      "fabric:\n  kind: optical\n  leaves: 3\n  gpus_per_leaf: 2\n  spines: 2\n"
      "  optical_switches: 2\n  circuits:\n    - {switch: 0, leaf: 0, spine: 0}\n"
      "    - {switch: 0, leaf: 0, spine: 1}\n    - {switch: 0, leaf: 1, spine: 0}\n"
      "    - {switch: 1, leaf: 2, to_leaf: 2}\n    - {switch: 5, leaf: 0, spine: 0}\n");
  EXPECT_THAT(told, HasSubstr("hall.yaml:9: circuit is \"leaf 0 used 2 times on switch 0\""));
  EXPECT_THAT(told, HasSubstr("hall.yaml:10: circuit is \"spine 0 used 2 times on switch 0\""));
  EXPECT_THAT(told, HasSubstr("hall.yaml:11: circuit is \"leaf 2 used 2 times on switch 1\""));
  EXPECT_THAT(told, HasSubstr("hall.yaml:12: switch is \"5\", expected 0 to 1"));
}

TEST(FabricYaml, AWordIsAFabricToo) {
  const auto word = read_fabric_or_word("leaf-spine:16x8x4", "--fabric");
  ASSERT_TRUE(word);
  EXPECT_EQ(word->gpus_per_leaf, 8);
  EXPECT_EQ(read_fabric_or_word("fat-tree:4", "--fabric")->ports, 4);
  for (const char* wrong : {"leaf-spine:16x16", "leaf-spine:0x1x1", "fat-tree:5", "ring:4", "no"})
    EXPECT_FALSE(read_fabric_or_word(wrong, "--fabric")) << wrong;
}

TEST(NetworkMixYaml, ReadsJobsAndTellsMistakes) {
  const auto read = [](const std::string& text) {
    return read_network_mix(*InputFile::from_memory("mix.yaml", text));
  };
  const auto mix = read(
      "jobs:\n  - {name: a, gpus: 16, collective: tree, bytes: 256MB, compute: 0.5s, iterations: "
      "3}\n  - {gpus: 4, collective: ring, bytes: 1MB, mode: steady, compute: 2s, ready: 1s, "
      "start: "
      "1s}\n");
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->jobs[0].ready_seconds, 0.5);
  EXPECT_EQ(mix->jobs[1].name, "job-2");
  EXPECT_EQ(mix->jobs[1].mode, PlayMode::steady);
  const auto wrong = read(
      "jobs:\n  - {gpus: 1, collective: star, bytes: 4}\n  - {gpus: 2, collective: ring, bytes: "
      "1MB, "
      "ready: 1s}\n");
  ASSERT_FALSE(wrong);
  const std::string told = to_string(wrong.error().details);
  EXPECT_THAT(told, HasSubstr("mix.yaml:2: gpus is \"1\""));
  EXPECT_THAT(told, HasSubstr("mix.yaml:2: collective is \"star\""));
  EXPECT_THAT(told, HasSubstr("mix.yaml:2: bytes is \"4\""));
  EXPECT_THAT(told, HasSubstr("mix.yaml:3: ready is \"1s\""));
}

}  // namespace
}  // namespace weir::formats
