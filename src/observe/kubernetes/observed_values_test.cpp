// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/observed_values.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::observe {
namespace {

Node a_node(Resources allocatable, Labels labels = {}) {
  Node node;
  node.meta.name = "n1";
  node.meta.labels = std::move(labels);
  node.is_ready = true;
  node.allocatable = std::move(allocatable);
  return node;
}

Pod a_pod(Resources requests) {
  Pod pod;
  pod.meta.ns = "team";
  pod.meta.name = "p";
  pod.meta.uid = "u-1";
  pod.requests = std::move(requests);
  return pod;
}

TEST(ObservedNode, HasWhatPodsCanAskFor) {
  const auto seen = observed_node(a_node({{"cpu", *read_quantity("63500m")},
                                          {"memory", *read_quantity("512Gi")},
                                          {"nvidia.com/gpu", Quantity::of(8)}},
                                         {{"nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB"},
                                          {"node.kubernetes.io/instance-type", "p4d.24xlarge"},
                                          {"topology.kubernetes.io/zone", "a"}}));
  EXPECT_EQ(seen.cpu, MilliCpu{63'500});
  EXPECT_EQ(seen.memory, Mebibytes{512 << 10});
  EXPECT_EQ(seen.gpu_count, 8);
  EXPECT_EQ(seen.model, "A100-SXM4-80GB");
  EXPECT_EQ(seen.pool, "p4d.24xlarge");
  EXPECT_EQ(seen.rack, "a");
  EXPECT_TRUE(seen.is_up);
}

TEST(ObservedNode, OneThatIsCordonedOrNotReadyTakesNothing) {
  Node node = a_node({});
  node.is_unschedulable = true;
  EXPECT_FALSE(observed_node(node).is_up);
  node.is_unschedulable = false;
  node.is_ready = false;
  EXPECT_FALSE(observed_node(node).is_up);
}

TEST(ObservedNode, WithoutLabelsIsStillSomething) {
  const auto seen = observed_node(a_node({{"amd.com/gpu", Quantity::of(4)}}));
  EXPECT_EQ(seen.gpu_count, 4);
  EXPECT_EQ(seen.model, "GPU");
  EXPECT_EQ(seen.pool, "GPU");
  EXPECT_EQ(observed_node(a_node({})).pool, "no GPUs");
}

TEST(ObservedNode, MoreGpusThanTheCoreCountsAreCutOff) {
  EXPECT_EQ(observed_node(a_node({{"nvidia.com/gpu", Quantity::of(72)}})).gpu_count, 16);
}

TEST(ObservedTask, AsksForCpuMemoryAndGpus) {
  const auto task = observed_task(a_pod({{"cpu", *read_quantity("1500m")},
                                         {"memory", *read_quantity("1000k")},
                                         {"nvidia.com/gpu", Quantity::of(2)}}),
                                  "Job team/j", 0);
  EXPECT_EQ(task.cpu, MilliCpu{1500});
  EXPECT_EQ(task.memory, Mebibytes{1}) << "rounded up";
  EXPECT_EQ(task.gpu_count, 2);
  EXPECT_EQ(task.gpu_share, kWholeGpu);
  EXPECT_EQ(task.name, "team/p");
  EXPECT_EQ(task.phase, ObservedPhase::waiting);
  const auto detail = nlohmann::json::parse(task.detail);
  EXPECT_EQ(detail.at("uid"), "u-1");
  EXPECT_EQ(detail.at("workload"), "Job team/j");
  EXPECT_EQ(detail.at("gpus"), 2.0);
  EXPECT_EQ(detail.at("requests").at("cpu"), "1500m");
}

TEST(ObservedTask, AShareIsAPartOfOneGpu) {
  const Node node =
      a_node({{"aliyun.com/gpu-mem", Quantity::of(64)}, {"aliyun.com/gpu-count", Quantity::of(4)}});
  EXPECT_EQ(share_units_of(node), 16);
  EXPECT_EQ(gpu_count_of(node), 4);
  Pod pod = a_pod({{"aliyun.com/gpu-mem", Quantity::of(5)}});
  pod.meta.annotations.set("ALIYUN_COM_GPU_MEM_IDX", "2");
  const auto task = observed_task(pod, "", 16);
  EXPECT_EQ(task.gpu_count, 1);
  EXPECT_EQ(task.gpu_share, MilliGpu{313}) << "5 of 16, rounded up";
  EXPECT_TRUE(task.gpus.contains(2));
  pod.meta.annotations.set("ALIYUN_COM_GPU_MEM_IDX", "-1; x");
  EXPECT_EQ(observed_task(pod, "", 16).gpus.count(), 0);
}

TEST(ObservedTask, SlicesAreHeldAlone) {
  EXPECT_EQ(observed_task(a_pod({{"nvidia.com/mig-1g.10gb", Quantity::of(3)}}), "", 0).gpu_count,
            3);
}

TEST(ObservedTask, FollowsThePod) {
  Pod pod = a_pod({});
  pod.node = "n1";
  EXPECT_EQ(observed_task(pod, "", 0).phase, ObservedPhase::running)
      << "it holds what it asked for";
  pod.phase = PodPhase::failed;
  EXPECT_EQ(observed_task(pod, "", 0).phase, ObservedPhase::failed);
  pod.phase = PodPhase::succeeded;
  EXPECT_EQ(observed_task(pod, "", 0).phase, ObservedPhase::finished);
}

TEST(ObservedTask, WhatEveryNodeRunsForItselfIsNotShown) {
  Pod pod = a_pod({});
  EXPECT_TRUE(is_shown(pod));
  pod.meta.owner = ObjectMeta::Owner{"DaemonSet", "d", "u"};
  EXPECT_FALSE(is_shown(pod));
  pod.meta.owner = ObjectMeta::Owner{"Job", "j", "u"};
  EXPECT_TRUE(is_shown(pod));
  pod.meta.ns = "kube-system";
  EXPECT_FALSE(is_shown(pod));
}

}  // namespace
}  // namespace weir::observe
