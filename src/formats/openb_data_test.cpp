// SPDX-License-Identifier: Apache-2.0
//
// The published openb lists, against the totals in their README.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "formats/data_dir_testing.h"
#include "formats/openb.h"
#include "formats/temporary_file_testing.h"

namespace weir::formats {
namespace {

struct NodeTotals {
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  MilliCpu cpu;
  Mebibytes memory;
  std::map<std::string, std::int64_t> gpus_by_model;
};

NodeTotals totals_of(const Cluster& cluster) {
  NodeTotals totals;
  for (const Node& node : cluster.nodes) {
    ++totals.nodes;
    totals.gpus += node.gpu_count;
    totals.cpu += node.cpu;
    totals.memory += node.memory;
    if (node.gpu_count > 0) totals.gpus_by_model[cluster.models.name(node.model)] += node.gpu_count;
  }
  return totals;
}

TEST(OpenbData, NodeListHasThePublishedTotals) {
  WEIR_NEEDS_DATA(data);
  const auto cluster = read_openb_nodes(data / "openb" / "openb_node_list_gpu_node.csv.gz");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  const NodeTotals totals = totals_of(*cluster);
  EXPECT_EQ(totals.nodes, 1213);
  EXPECT_EQ(totals.gpus, 6212);
  EXPECT_EQ(cluster->gpu_capacity(), MilliGpu{6'212'000});
  EXPECT_EQ(totals.cpu, MilliCpu{107'018'000});
  EXPECT_EQ(totals.memory, Mebibytes{503'828'480});
  const std::map<std::string, std::int64_t> expected{
      {"G2", 4392},     {"T4", 842},      {"G3", 312}, {"P100", 265},
      {"V100M32", 204}, {"V100M16", 195}, {"A10", 2}};
  EXPECT_EQ(totals.gpus_by_model, expected);
  EXPECT_EQ(cluster->pools.size(), expected.size());
}

TEST(OpenbData, FullNodeListHasTheCpuNodesToo) {
  WEIR_NEEDS_DATA(data);
  const auto cluster = read_openb_nodes(data / "openb" / "openb_node_list_all_node.csv.gz");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  const NodeTotals totals = totals_of(*cluster);
  EXPECT_EQ(totals.nodes, 1523);
  EXPECT_EQ(totals.gpus, 6212);
  EXPECT_EQ(cluster->pools.size(), 8U);
}

struct TaskTotals {
  std::string list;
  std::int64_t tasks = 0, cpu_only = 0, share = 0, one = 0, two = 0, four = 0, eight = 0;
  std::int64_t milli_gpu = 0;
  int spec_permille = 0;  // of GPU tasks
};

void PrintTo(const TaskTotals& totals, std::ostream* out) {
  *out << totals.list;
}

TaskTotals totals_of(const std::string& list, const Workload& workload) {
  TaskTotals totals{.list = list, .tasks = static_cast<std::int64_t>(workload.jobs.size())};
  std::int64_t with_spec = 0;
  for (const WorkloadJob& job : workload.jobs) {
    const Shape& shape = job.spec.shape;
    totals.cpu_only += shape.is_cpu_only() ? 1 : 0;
    totals.share += shape.shares_gpu() ? 1 : 0;
    totals.one += shape.gpu_count == 1 && !shape.shares_gpu() ? 1 : 0;
    totals.two += shape.gpu_count == 2 ? 1 : 0;
    totals.four += shape.gpu_count == 4 ? 1 : 0;
    totals.eight += shape.gpu_count == 8 ? 1 : 0;
    totals.milli_gpu += shape.gpu_total().value;
    with_spec += shape.models.accepts_any() ? 0 : 1;
  }
  const std::int64_t gpu_tasks = totals.tasks - totals.cpu_only;
  totals.spec_permille = static_cast<int>((with_spec * 2000 + gpu_tasks) / (2 * gpu_tasks));
  return totals;
}

TaskTotals with_tasks(std::string list, std::int64_t tasks, std::int64_t cpu_only) {
  return {std::move(list), tasks, cpu_only, 3078, 3911, 16, 15, 44, 6'086'800, 0};
}

TaskTotals with_spec(std::string list, int spec_permille) {
  return {std::move(list), 8152, 1088, 3078, 3911, 16, 15, 44, 6'086'800, spec_permille};
}

const std::array<TaskTotals, 23> kPublishedTotals{{
    with_tasks("default", 8152, 1088),
    with_tasks("cpu037", 7336, 272),
    with_tasks("cpu050", 7439, 375),
    with_tasks("cpu072", 7608, 544),
    with_tasks("cpu100", 7853, 789),
    with_tasks("cpu200", 8832, 1768),
    with_tasks("cpu235", 9240, 2176),
    with_tasks("cpu250", 9420, 2356),
    with_tasks("cpu300", 10094, 3030),
    {"gpushare20", 8152, 1088, 2324, 4653, 12, 13, 62, 6'531'500, 0},
    {"gpushare40", 8152, 1088, 4001, 3001, 12, 11, 39, 5'641'250, 0},
    {"gpushare60", 8152, 1088, 5233, 1801, 7, 9, 14, 4'908'340, 0},
    {"gpushare80", 8152, 1088, 6279, 768, 2, 3, 12, 4'408'190, 0},
    {"gpushare100", 8152, 1088, 7064, 0, 0, 0, 0, 3'952'670, 0},
    with_spec("gpuspec05", 52),
    with_spec("gpuspec10", 104),
    with_spec("gpuspec20", 204),
    with_spec("gpuspec25", 249),
    with_spec("gpuspec33", 338),
    {"multigpu20", 8324, 1088, 3078, 3911, 54, 52, 141, 7'086'800, 0},
    {"multigpu30", 8508, 1088, 3078, 3911, 112, 83, 236, 8'086'800, 0},
    {"multigpu40", 8746, 1088, 3078, 3911, 156, 154, 359, 9'442'800, 0},
    {"multigpu50", 9061, 1088, 3078, 3911, 222, 206, 556, 11'358'800, 0},
}};

class OpenbTaskList : public testing::TestWithParam<TaskTotals> {};

TEST_P(OpenbTaskList, HasThePublishedTotals) {
  WEIR_NEEDS_DATA(data);
  const TaskTotals& expected = GetParam();
  const auto cluster = read_openb_nodes(data / "openb" / "openb_node_list_gpu_node.csv.gz");
  ASSERT_TRUE(cluster) << mistakes_of(cluster);
  const auto workload =
      read_openb_tasks(data / "openb" / ("openb_pod_list_" + expected.list + ".csv.gz"), *cluster);
  ASSERT_TRUE(workload) << mistakes_of(workload);
  EXPECT_EQ(workload->name, expected.list);
  const TaskTotals totals = totals_of(workload->name, *workload);
  EXPECT_EQ(totals.tasks, expected.tasks);
  EXPECT_EQ(totals.cpu_only, expected.cpu_only);
  EXPECT_EQ(totals.share, expected.share);
  EXPECT_EQ(totals.one, expected.one);
  EXPECT_EQ(totals.two, expected.two);
  EXPECT_EQ(totals.four, expected.four);
  EXPECT_EQ(totals.eight, expected.eight);
  EXPECT_EQ(totals.milli_gpu, expected.milli_gpu);
  EXPECT_EQ(totals.spec_permille, expected.spec_permille);
  EXPECT_EQ(workload->gpu_demand(), MilliGpu{expected.milli_gpu});
  EXPECT_EQ(workload->has_timing(), !expected.list.starts_with("multigpu"));
}

INSTANTIATE_TEST_SUITE_P(Published, OpenbTaskList, testing::ValuesIn(kPublishedTotals),
                         [](const auto& list) { return list.param.list; });

}  // namespace
}  // namespace weir::formats
