// SPDX-License-Identifier: Apache-2.0
#include "formats/openb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "formats/domain_generators_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view kNodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n";
constexpr std::string_view kTaskHeader =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_"
    "time\n";

Result<Cluster> nodes(std::string_view rows, std::string_view header = kNodeHeader) {
  const std::string bytes = std::string{header} + std::string{rows};
  return read_openb_nodes(*InputFile::from_memory("n.csv", bytes));
}

Cluster small_cluster() {
  return *nodes("a,1000,10,2,T4\nb,1000,10,0,\nc,1000,10,8,V100M32\nd,1000,10,4,T4\n");
}

Result<Workload> tasks(std::string_view rows, std::string_view header = kTaskHeader) {
  const std::string bytes = std::string{header} + std::string{rows};
  return read_openb_tasks(*InputFile::from_memory("dir/openb_pod_list_t.csv", bytes),
                          small_cluster());
}

TEST(OpenbNodes, BecomeAClusterWithOnePoolPerModel) {
  const Cluster cluster = small_cluster();
  ASSERT_EQ(cluster.nodes.size(), 4U);
  EXPECT_EQ(cluster.pools, (std::vector<Pool>{{"T4"}, {"cpu"}, {"V100M32"}}));
  EXPECT_EQ(cluster.nodes[3],
            (Node{NodeId{4}, "d", PoolIndex{0}, MilliCpu{1000}, Mebibytes{10}, 4, GpuModelId{0}}));
  EXPECT_EQ(cluster.nodes[1].model, kNoGpuModel);
  EXPECT_EQ(cluster.name, "n");
}

TEST(OpenbNodes, ReportEveryMistakeAtOnce) {
  EXPECT_EQ(mistakes_of(nodes("a,-1,x,17,T4\n"
                              "a,1,1,1,\n"
                              ",1,1,0,T4\n"
                              "b[1],1,1,1,T|4\n")),
            "n.csv:2: cpu_milli is \"-1\", expected an integer from 0 to 1000000000\n"
            "n.csv:2: memory_mib is \"x\", expected an integer from 0 to 17179869184\n"
            "n.csv:2: gpu is \"17\", expected an integer from 0 to 16\n"
            "n.csv:3: sn is \"a\", expected another name: line 2 has this one\n"
            "n.csv:3: model is missing, expected a GPU model, because gpu is 1\n"
            "n.csv:4: sn is missing, expected a name of 1 to 253 bytes, UTF-8 without control "
            "characters or brackets\n"
            "n.csv:4: model is \"T4\", expected an empty cell, because gpu is 0\n"
            "n.csv:5: sn is \"b[1]\", expected a name of 1 to 253 bytes, UTF-8 without control "
            "characters or brackets\n"
            "n.csv:5: model is \"T|4\", expected a model name of 1 to 253 bytes, UTF-8 without "
            "control characters or |\n");
}

TEST(OpenbNodes, NeedAtLeastOneNode) {
  EXPECT_EQ(mistakes_of(nodes("")),
            "n.csv:2: sn is missing, expected at least one node below the first line\n");
}

TEST(OpenbNodes, MayHave64ModelsAndNoMore) {
  std::string rows;
  for (int i = 0; i < 65; ++i)
    rows += "n" + std::to_string(i) + ",1,1,1,M" + std::to_string(i) + "\n";
  EXPECT_EQ(mistakes_of(nodes(rows)),
            "n.csv:66: model is \"M64\", expected at most 64 different models\n");
}

TEST(OpenbTasks, BecomeJobsWithShapesAndTimes) {
  const auto workload = tasks(
      "p0,12000,16384,1,460,V100M32|T4|T4,10,110.5,30\n"
      "p1,1,2,2,1000,,10.0,110,\n"
      "p2,1,2,0,0,,,,\n");
  ASSERT_TRUE(workload) << mistakes_of(workload);
  EXPECT_EQ(workload->name, "t");
  const WorkloadJob& first = workload->jobs[0];
  EXPECT_EQ(first.spec.name, "p0");
  EXPECT_EQ(first.spec.shape.gpu_share, MilliGpu{460});
  EXPECT_EQ(small_cluster().models.to_string(first.spec.shape.models), "T4|V100M32");
  EXPECT_EQ(first.timing, (JobTiming{10s, 80500ms}));           // from scheduled_time
  EXPECT_EQ(workload->jobs[1].timing, (JobTiming{10s, 100s}));  // from creation_time
  EXPECT_EQ(workload->jobs[2].timing, std::nullopt);
  EXPECT_FALSE(workload->has_timing());
}

TEST(OpenbTasks, NeedOnlyTheFirstFiveColumns) {
  const auto workload = tasks("p,1,2,8,1000\n", "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n");
  ASSERT_TRUE(workload) << mistakes_of(workload);
  EXPECT_EQ(workload->jobs[0].spec.shape.gpu_total(), MilliGpu{8000});
  EXPECT_TRUE(workload->jobs[0].spec.shape.models.accepts_any());
}

TEST(OpenbTasks, ReportEveryMistakeAtOnce) {
  EXPECT_EQ(
      mistakes_of(tasks("p0,1,1,1,0,H100|T4,5,1,\n"
                        "p1,1,1,2,500,T4|,1,5,0\n"
                        "p2,1,1,0,10,|T4,-1,1e9,x\n"
                        "p3,1,1,99,1000,,9,,\n")),
      "dir/openb_pod_list_t.csv:2: gpu_milli is \"0\", expected an integer from 1 to 1000\n"
      "dir/openb_pod_list_t.csv:2: gpu_spec is \"H100\", expected models of the cluster joined by "
      "|: T4, V100M32\n"
      "dir/openb_pod_list_t.csv:2: deletion_time is \"1\", expected creation_time (5) or later\n"
      "dir/openb_pod_list_t.csv:3: gpu_milli is \"500\", expected 1000, because num_gpu is 2\n"
      "dir/openb_pod_list_t.csv:3: gpu_spec is \"T4|\", expected models of the cluster joined by "
      "|: T4, V100M32\n"
      "dir/openb_pod_list_t.csv:3: scheduled_time is \"0\", expected creation_time (1) or later\n"
      "dir/openb_pod_list_t.csv:4: gpu_milli is \"10\", expected 0, because num_gpu is 0\n"
      "dir/openb_pod_list_t.csv:4: gpu_spec is \"|T4\", expected models of the cluster joined by "
      "|: T4, V100M32\n"
      "dir/openb_pod_list_t.csv:4: creation_time is \"-1\", expected seconds from 0 to 3155760000\n"
      "dir/openb_pod_list_t.csv:4: deletion_time is \"1e9\", expected seconds from 0 to "
      "3155760000\n"
      "dir/openb_pod_list_t.csv:4: scheduled_time is \"x\", expected seconds from 0 to 3155760000\n"
      "dir/openb_pod_list_t.csv:5: num_gpu is \"99\", expected an integer from 0 to 16\n"
      "dir/openb_pod_list_t.csv:5: deletion_time is missing, expected seconds from 0 to "
      "3155760000\n");
}

TEST(OpenbTasks, CannotHoldAGang) {
  Workload workload{"w", {WorkloadJob{JobSpec{"bert", 4, Shape{}}, std::nullopt}}};
  std::ostringstream out;
  EXPECT_EQ(mistakes_of(write_openb_tasks(out, workload, small_cluster())),
            "replicas of job bert is \"4\", expected 1, because an openb list has no gangs\n");
}

RC_GTEST_PROP(OpenbNodes, ComeBackAsWritten, ()) {
  Cluster cluster = any_cluster({.pools_are_models = true});
  std::ostringstream out;
  write_openb_nodes(out, cluster);
  const std::string written = out.str();
  const auto back = read_openb_nodes(*InputFile::from_memory("f", written));
  RC_ASSERT(mistakes_of(back) == "ok\n");
  cluster.name = "f";
  RC_ASSERT(*back == cluster);
}

RC_GTEST_PROP(OpenbTasks, ComeBackAsWritten, ()) {
  const Cluster cluster = any_cluster({.pools_are_models = true});
  const Workload workload = any_workload(cluster, {.has_gangs = false});
  std::ostringstream out;
  RC_ASSERT(write_openb_tasks(out, workload, cluster).has_value());
  const std::string written = out.str();
  const auto back = read_openb_tasks(*InputFile::from_memory("f", written), cluster);
  RC_ASSERT(mistakes_of(back) == "ok\n");
  RC_ASSERT(back->jobs == workload.jobs);
}

}  // namespace
}  // namespace weir::formats
