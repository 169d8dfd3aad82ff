// SPDX-License-Identifier: Apache-2.0
#include "report/trace_description.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/text_table.h"

namespace weir::report {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Cluster a_cluster() {
  Cluster cluster;
  const GpuModelId t4 = *cluster.models.intern("T4");
  const PoolIndex pool = cluster.pool_named("T4");
  cluster.nodes = {{NodeId{1}, "a", pool, MilliCpu{64'000}, Mebibytes{262'144}, 4, t4},
                   {NodeId{2}, "b", pool, MilliCpu{32'000}, Mebibytes{131'072}, 2, t4},
                   {NodeId{3}, "c", pool, MilliCpu{96'000}, Mebibytes{262'144}, 0, kNoGpuModel}};
  return cluster;
}

WorkloadJob a_job(std::int32_t replicas, int gpus, int share, Duration run_time) {
  return {{"job", replicas, {MilliCpu{4000}, Mebibytes{1024}, gpus, MilliGpu{share}, {}}},
          JobTiming{0s, run_time}};
}

Workload a_workload() {
  return {"lab",
          {a_job(1, 0, 0, 10s), a_job(1, 1, 500, 60s), a_job(1, 1, 500, 600s),
           a_job(2, 8, 1000, 7200s)}};
}

TEST(TraceDescription, OfNodesCountsByGpuModel) {
  const auto tables = description_tables(describe("nodes.csv", a_cluster()));
  EXPECT_EQ(to_text(tables[0]),
            "nodes.csv: 3 nodes, 6 GPUs\n"
            "GPU model  nodes  GPUs   CPUs  memory GiB  CPUs per GPU\n"
            "---------  -----  ----  -----  ----------  ------------\n"
            "T4             2     6   96.0         384          16.0\n"
            "none           1     0   96.0         256             -\n"
            "all            3     6  192.0         640          32.0\n");
}

TEST(TraceDescription, OfTasksCountsByKind) {
  const auto tables = description_tables(describe("lab.csv", a_workload(), {}));
  EXPECT_EQ(tables[0].title,
            "lab.csv: 5 tasks, 17.0 GPUs and 20.0 CPUs asked for, 0 name GPU models");
  EXPECT_THAT(tables[0].rows, ElementsAre(ElementsAre("CPU only", "1", "20.0", "0.0", "0.0"),
                                          ElementsAre("part of a GPU", "2", "40.0", "1.0", "5.9"),
                                          ElementsAre("8 GPUs", "2", "40.0", "16.0", "94.1")));
  EXPECT_THAT(tables[2].rows[0], ElementsAre("60 s", "2.0 h", "2.0 h", "2.0 h"));
}

TEST(TraceDescription, WithoutTimesHasNoRunTimes) {
  Workload workload = a_workload();
  workload.jobs[0].timing.reset();
  EXPECT_EQ(description_tables(describe("lab.csv", workload, {})).size(), 2U);
  EXPECT_FALSE(describe("lab.csv", Workload{}, {}).run_times);
}

TEST(TraceDescription, IsAlsoJson) {
  const auto tasks = description_json(describe("lab.csv", a_workload(), {}));
  EXPECT_EQ(tasks["tasks"], 5);
  EXPECT_EQ(tasks["gangs"], 1);
  EXPECT_EQ(tasks["gpu_milli"], 17'000);
  EXPECT_EQ(tasks["distinct_shapes"], 3);
  EXPECT_EQ(tasks["run_time_s"]["p50"], 60);
  const auto nodes = description_json(describe("nodes.csv", a_cluster()));
  EXPECT_EQ(nodes["gpus"], 6);
  EXPECT_EQ(nodes["models"][0]["model"], "T4");
}

TEST(DurationText, TakesAUnitThatReadsWell) {
  EXPECT_EQ(duration_text(45s), "45 s");
  EXPECT_EQ(duration_text(750s), "12.5 min");
  EXPECT_EQ(duration_text(5h), "5.0 h");
  EXPECT_EQ(duration_text(84h), "3.5 d");
}

}  // namespace
}  // namespace weir::report
