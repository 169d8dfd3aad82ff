// SPDX-License-Identifier: Apache-2.0
#include "formats/inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

constexpr std::string_view kCsvNodes = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\n";
constexpr std::string_view kYamlNodes =
    "# our lab\n\nnodes: [{name: a, cpus: 1, memory: 1GiB, gpus: 1, model: T4}]\n";
constexpr std::string_view kCsvTasks =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt,1000,1024,1,500\n";
constexpr std::string_view kYamlTasks =
    "jobs:\n- {name: t, cpus: 1, memory: 1GiB, gpus: 1, share: 0.5}\n";

TEST(Inputs, AreReadInEveryFormatByNameOrContent) {
  const TemporaryFolder folder;
  std::vector<Cluster> clusters;
  for (const auto& path :
       {folder.write("lab.csv", kCsvNodes), folder.write("lab.csv.gz", gzip(kCsvNodes)),
        folder.write("lab.yaml", kYamlNodes), folder.write("lab.yml.gz", gzip(kYamlNodes))}) {
    const auto cluster = read_cluster(path);
    ASSERT_TRUE(cluster) << mistakes_of(cluster);
    clusters.push_back(*cluster);
    EXPECT_EQ(*cluster, clusters[0]) << path;
  }
  for (const auto& path : {folder.write("c", kCsvNodes), folder.write("y", gzip(kYamlNodes))}) {
    const auto cluster = read_cluster(path);
    ASSERT_TRUE(cluster) << mistakes_of(cluster);
    EXPECT_EQ(cluster->nodes, clusters[0].nodes);
  }
  for (const auto& path : {folder.write("t.csv", kCsvTasks), folder.write("t.yaml", kYamlTasks),
                           folder.write("t", kCsvTasks), folder.write("t2", kYamlTasks)}) {
    const auto workload = read_workload(path, clusters[0]);
    ASSERT_TRUE(workload) << mistakes_of(workload);
    ASSERT_EQ(workload->jobs.size(), 1U);
    EXPECT_EQ(workload->jobs[0].spec.shape.gpu_share, MilliGpu{500});
  }
}

TEST(Inputs, ThatDoNotExistAreNamed) {
  EXPECT_EQ(mistakes_of(read_cluster("/nowhere/lab.yaml")),
            "/nowhere/lab.yaml: file is missing, expected the path of an existing file\n");
  EXPECT_EQ(mistakes_of(read_workload("/nowhere/t.csv", Cluster{})),
            "/nowhere/t.csv: file is missing, expected the path of an existing file\n");
}

TEST(Inputs, ThatAreEmptySayWhatIsWanted) {
  const TemporaryFolder folder;
  EXPECT_THAT(mistakes_of(read_cluster(folder.write("e.csv", ""))),
              testing::HasSubstr(
                  "file is \"empty\", expected a first line sn,cpu_milli,memory_mib,gpu,model"));
  EXPECT_THAT(
      mistakes_of(read_cluster(folder.write("e.yaml", ""))),
      testing::HasSubstr(
          "e.yaml: file is \"empty\", expected a map with some of the keys cluster, nodes"));
}

}  // namespace
}  // namespace weir::formats
