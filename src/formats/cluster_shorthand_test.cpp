// SPDX-License-Identifier: Apache-2.0
#include "formats/cluster_shorthand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

TEST(ClusterShorthand, MakesAPoolPerModel) {
  const auto cluster = parse_cluster_shorthand("16x8xA100+4x4xT4");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  EXPECT_EQ(cluster->name, "16x8xA100+4x4xT4");
  ASSERT_EQ(cluster->nodes.size(), 20U);
  EXPECT_EQ(cluster->gpu_count(), 144);
  ASSERT_EQ(cluster->pools.size(), 2U);
  EXPECT_EQ(cluster->pools[0].name, "A100");
  EXPECT_EQ(cluster->pools[1].name, "T4");
  Node first;
  first.id = NodeId{1};
  first.name = "a100-0001";
  first.pool = PoolIndex{0};
  first.cpu = MilliCpu{96'000};
  first.memory = Mebibytes{900 * 1024};
  first.gpu_count = 8;
  first.model = GpuModelId{0};
  EXPECT_EQ(cluster->nodes[0], first);
  const Node& last = cluster->nodes[19];
  EXPECT_EQ(last.id, NodeId{20});
  EXPECT_EQ(last.name, "t4-0004");
  EXPECT_EQ(last.cpu, MilliCpu{48'000});
  EXPECT_EQ(last.memory, Mebibytes{450 * 1024});
}

TEST(ClusterShorthand, MayLeaveOutTheModel) {
  const auto cluster = parse_cluster_shorthand("2x4");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  EXPECT_EQ(cluster->models.names(), std::vector<std::string>{"GPU"});
  EXPECT_EQ(cluster->nodes[1].name, "gpu-0002");
}

TEST(ClusterShorthand, TakesAnXInTheModelAsALetter) {
  const auto cluster = parse_cluster_shorthand("1x1xRTXx2");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  EXPECT_EQ(cluster->models.names(), std::vector<std::string>{"RTXx2"});
}

TEST(ClusterShorthand, NeverGivesANameTwice) {
  const auto cluster = parse_cluster_shorthand("2x8xA100+2x4xA100+2x1xa100");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  EXPECT_EQ(cluster->pools.size(), 2U);
  std::set<std::string> names;
  for (const Node& node : cluster->nodes) names.insert(node.name);
  EXPECT_EQ(names.size(), 6U);
  EXPECT_EQ(cluster->nodes[2].name, "a100-0003");
}

TEST(ClusterShorthand, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(mistakes_of(parse_cluster_shorthand("0x8xA100+1x17xT4+1x8x+1x+16+1x1xa b+")),
            "cluster is \"0x8xA100\", expected 1 to 1000000 nodes before the first x\n"
            "cluster is \"1x17xT4\", expected 1 to 16 GPUs per node after the first x\n"
            "cluster is \"1x8x\", expected a model of 1 to 64 letters, digits, -, _ or . after the "
            "second x, such as 16x8xA100\n"
            "cluster is \"1x\", expected nodes x GPUs per node x model, such as 16x8xA100\n"
            "cluster is \"16\", expected nodes x GPUs per node x model, such as 16x8xA100\n"
            "cluster is \"1x1xa b\", expected a model of 1 to 64 letters, digits, -, _ or . after "
            "the second x, such as 16x8xA100\n"
            "cluster is missing, expected nodes x GPUs per node x model, such as 16x8xA100\n");
  EXPECT_EQ(mistakes_of(parse_cluster_shorthand("999999x1+2x1")),
            "cluster is \"2x1xGPU\", expected at most 1000000 nodes in all\n");
}

TEST(ClusterShorthand, GivesWayToAFileOfThatName) {
  const TemporaryFolder folder;
  const auto file =
      folder.write("2x4", "nodes: [{name: a, cpus: 1, memory: 1GiB, gpus: 1, model: T4}]\n");
  const auto from_file = read_cluster_or_shorthand(file.string());
  ASSERT_TRUE(from_file) << mistakes_of(from_file);
  EXPECT_EQ(from_file->nodes.size(), 1U);
  const auto from_text = read_cluster_or_shorthand("3x4xT4");
  ASSERT_TRUE(from_text) << mistakes_of(from_text);
  EXPECT_EQ(from_text->nodes.size(), 3U);
}

TEST(ClusterShorthand, ShowsBothFormsWhenItIsNeither) {
  EXPECT_EQ(mistakes_of(read_cluster_or_shorthand("nowhere/lab.yaml")),
            "cluster is \"nowhere/lab.yaml\", expected the path of an existing cluster file, such "
            "as lab.yaml or nodes.csv, or nodes x GPUs per node x model, such as 16x8xA100\n");
  EXPECT_THAT(mistakes_of(read_cluster_or_shorthand("16x")), HasSubstr("such as 16x8xA100"));
}

}  // namespace
}  // namespace weir::formats
