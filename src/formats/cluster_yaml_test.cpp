// SPDX-License-Identifier: Apache-2.0
#include "formats/cluster_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "formats/domain_generators_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;

Result<Cluster> cluster_from(std::string_view text) {
  return read_cluster_yaml(*InputFile::from_memory("lab.yaml", text));
}

TEST(ClusterYaml, ReadsNodesRangesAndCounts) {
  const auto cluster = cluster_from(
      "cluster: {name: our lab}\n"
      "nodes:\n"
      "  - {name: \"gpu-[09-11]\", pool: fast, cpus: 96, memory: 384GiB, gpus: 8, model: A100}\n"
      "  - name: t4-[1-2]\n"
      "    cpus: 0.5\n"
      "    memory: 1.5TiB\n"
      "    gpus: 1\n"
      "    model: T4\n"
      "  - {name: login, count: 2, cpus: 16, memory: 64GiB}\n");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  EXPECT_EQ(cluster->name, "our lab");
  std::vector<std::string> names;
  for (const Node& node : cluster->nodes) names.push_back(node.name);
  EXPECT_THAT(names, testing::ElementsAre("gpu-09", "gpu-10", "gpu-11", "t4-1", "t4-2", "login-1",
                                          "login-2"));
  EXPECT_EQ(cluster->pools, (std::vector<Pool>{{"fast"}, {"T4"}, {"cpu"}}));
  EXPECT_EQ(cluster->nodes[2], (Node{NodeId{3}, "gpu-11", PoolIndex{0}, MilliCpu{96000},
                                     Mebibytes{393216}, 8, GpuModelId{0}}));
  EXPECT_EQ(cluster->nodes[3].cpu, MilliCpu{500});
}

TEST(ClusterYaml, NodesMayHaveARack) {
  const char* const text =
      "cluster: {name: lab}\n"
      "nodes:\n"
      "  - {name: \"n[1-2]\", cpus: 1, memory: 1MiB, gpus: 1, model: T4, rack: r1}\n"
      "  - {name: n3, cpus: 1, memory: 1MiB, gpus: 1, model: T4, rack: r2}\n"
      "  - {name: n4, cpus: 1, memory: 1MiB, gpus: 1, model: T4}\n";
  const auto cluster = cluster_from(text);
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  EXPECT_EQ(cluster->nodes[1].rack, "r1");
  EXPECT_EQ(cluster->nodes[2].rack, "r2");
  EXPECT_EQ(cluster->nodes[3].rack, "");
  std::ostringstream out;
  write_cluster_yaml(out, *cluster);
  EXPECT_EQ(out.str(), text);
  EXPECT_THAT(mistakes_of(cluster_from("nodes:\n"
                                       "- {name: n1, cpus: 1, memory: 1MiB, rack: n2}\n"
                                       "- {name: n2, cpus: 1, memory: 1MiB, rack: r}\n")),
              HasSubstr("another name: a node has this one"));
}

TEST(ClusterYaml, IsNamedAfterItsFileByDefault) {
  EXPECT_EQ(cluster_from("nodes: [{name: a, cpus: 1, memory: 1MiB}]")->name, "lab");
}

TEST(ClusterYaml, ReportsEveryMistakeAtOnce) {
  EXPECT_EQ(mistakes_of(cluster_from("nodes:\n"
                                     "  - {name: a, cpu: 1, memory: 64GB, gpus: 17}\n"
                                     "  - {name: a, cpus: 1.0005, memory: 1GiB, gpus: 2}\n"
                                     "  - {name: \"b[1-]\", cpus: 1, memory: 1GiB, model: T4}\n"
                                     "  - {name: \"c[1-2]\", count: 2, cpus: 1, memory: 1GiB}\n"
                                     "  - just text\n"
                                     "  - {cpus: 1, memory: 1GiB}\n"
                                     "  - {name: a, cpus: 1, memory: 1GiB}\n"
                                     "node: x\n")),
            "lab.yaml:9: key is \"node\", expected one of cluster, nodes; did you mean nodes?\n"
            "lab.yaml:2: key is \"cpu\", expected one of name, count, pool, cpus, memory, gpus, "
            "model, rack; did you mean cpus?\n"
            "lab.yaml:2: memory is \"64GB\", expected whole MiB up to 16384TiB with unit KiB, MiB, "
            "GiB or TiB, such as 384GiB\n"
            "lab.yaml:2: gpus is \"17\", expected an integer from 0 to 16\n"
            "lab.yaml:3: cpus is \"1.0005\", expected cores from 0 to 1000000, such as 96 or 0.5\n"
            "lab.yaml:3: model is missing, expected a GPU model, because gpus is 2\n"
            "lab.yaml:3: name is \"a\", expected another name: line 2 has this one\n"
            "lab.yaml:4: model is \"T4\", expected no model, because there are no gpus\n"
            "lab.yaml:4: name is \"b[1-]\", expected a name with one range, such as gpu-[01-16]\n"
            "lab.yaml:5: count is \"2\", expected no count, because the name has a range\n"
            "lab.yaml:6: node is \"just text\", expected a map with some of the keys name, count, "
            "pool, cpus, memory, gpus, model, rack\n"
            "lab.yaml:7: name is missing, expected a name of 1 to 253 bytes, UTF-8 without control "
            "characters or brackets\n"
            "lab.yaml:8: name is \"a\", expected another name: line 2 has this one\n");
}

TEST(ClusterYaml, NeedsAListOfNodes) {
  EXPECT_THAT(mistakes_of(cluster_from("cluster: {name: x}\n")),
              HasSubstr("lab.yaml:1: nodes is missing, expected a list of nodes"));
  EXPECT_THAT(mistakes_of(cluster_from("nodes: 3\n")),
              HasSubstr("nodes is \"3\", expected a list of nodes"));
  EXPECT_THAT(mistakes_of(cluster_from("nodes: []\n")),
              HasSubstr("nodes is \"an empty list\", expected a list of nodes"));
}

TEST(ClusterYaml, LimitsWhatALineCanMake) {
  EXPECT_EQ(mistakes_of(cluster_from("nodes: [{name: \"n[0-999999999]\", cpus: 1, memory: 1GiB}]")),
            "lab.yaml:1: name is \"n[0-999999999]\", expected at most 1000000 nodes in all\n");
  EXPECT_THAT(
      mistakes_of(cluster_from("nodes: [{name: n, count: 1000001, cpus: 1, memory: 1GiB}]")),
      HasSubstr("count is \"1000001\", expected an integer from 1 to 1000000"));
  const std::string long_name(300, 'x');
  EXPECT_THAT(mistakes_of(cluster_from("nodes: [{name: " + long_name +
                                       ", count: 1000000, cpus: 1, memory: 1GiB}]")),
              HasSubstr("expected a name of 1 to 253 bytes"));
}

TEST(ClusterYaml, WritesRunsOfLikeNodesInOneLine) {
  const auto cluster = cluster_from(
      "nodes:\n"
      "- {name: \"n[08-11]\", cpus: 1.5, memory: 2048KiB}\n"
      "- {name: \"n12\", cpus: 1.5, memory: 2MiB, gpus: 1, model: \"A 100\", pool: x}\n");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  std::ostringstream out;
  write_cluster_yaml(out, *cluster);
  EXPECT_EQ(out.str(),
            "cluster: {name: lab}\n"
            "nodes:\n"
            "  - {name: \"n[08-11]\", cpus: 1.5, memory: 2MiB}\n"
            "  - {name: n12, cpus: 1.5, memory: 2MiB, gpus: 1, model: \"A 100\", pool: x}\n");
}

RC_GTEST_PROP(ClusterYaml, ComesBackAsWritten, ()) {
  const Cluster cluster = any_cluster({.pools_are_models = false});
  std::ostringstream out;
  write_cluster_yaml(out, cluster);
  const std::string written = out.str();
  const auto back = cluster_from(written);
  RC_ASSERT(mistakes_of(back) == "ok\n");
  RC_ASSERT(*back == cluster);
}

}  // namespace
}  // namespace weir::formats
