// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/stranded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/kubernetes/cluster_testing.h"
#include "observe/kubernetes/pending.h"

namespace weir::observe {
namespace {

using testing::ClusterBuilder;

ClusterSummary summary_of(const ClusterBuilder& cluster) {
  return summarize(cluster.objects, pending_workloads(cluster.objects));
}

TEST(Stranded, NamesTheCauseOfEachNodesIdleGpus) {
  ClusterBuilder cluster;
  cluster.node("cordoned", 8).is_unschedulable = true;
  cluster.node("broken", 4).is_ready = false;
  cluster.node("foreign", 2).taints = {{"dedicated", "infra", TaintEffect::no_schedule}};
  cluster.node("no-cpu", 8, 16);
  cluster.pod("eater", 0, "no-cpu", 16);
  cluster.node("full", 8).allocatable.set("pods", Quantity::of(1));
  cluster.pod("one", 7, "full");
  cluster.node("fine", 8);
  cluster.pod("trains", 6, "fine", 2);
  const auto summary = summary_of(cluster);
  EXPECT_EQ(summary.gpus, 38);
  EXPECT_EQ(summary.gpus_used, 13);
  EXPECT_EQ(summary.gpus_free, 25);
  EXPECT_THAT(summary.stranded, ::testing::UnorderedElementsAre(
                                    StrandedGpus{"cordoned", 8, 1}, StrandedGpus{"not_ready", 4, 1},
                                    StrandedGpus{"tainted", 2, 1}, StrandedGpus{"cpu", 8, 1},
                                    StrandedGpus{"pod_count", 1, 1}));
}

TEST(Stranded, AToleratedTaintStrandsNothing) {
  ClusterBuilder cluster;
  cluster.node("n1", 2).taints = {{"gpu", "yes", TaintEffect::no_schedule}};
  cluster.pod("waits", 4).tolerations = {{"gpu", true, "", {}}};
  EXPECT_TRUE(summary_of(cluster).stranded.empty());
}

// Two nodes of 8, 4 free on each; every expected pod asks for 8: all 8 free GPUs are fragments.
TEST(Stranded, FragmentsAreWhatExpectedPodsCannotUse) {
  ClusterBuilder cluster;
  cluster.node("n1", 8);
  cluster.node("n2", 8);
  auto& small = cluster.pod("small", 4, "n1");
  static_cast<void>(small);
  cluster.pod("small-2", 4, "n2");
  for (int i = 0; i < 98; ++i) cluster.pod("large-" + std::to_string(i), 8);
  const auto summary = summary_of(cluster);
  EXPECT_NEAR(summary.gpus_fragmented, 8 * 0.98, 0.01);
}

TEST(Stranded, DefragmentationMovesSmallPodsTogether) {
  ClusterBuilder cluster;
  cluster.node("n1", 8);
  cluster.node("n2", 8);
  cluster.pod("small-1", 4, "n1");
  cluster.pod("small-2", 3, "n2");
  cluster.pod("waits", 8);
  const auto moved = summary_of(cluster).defragmentation;
  EXPECT_EQ(moved.moves, 1);
  EXPECT_EQ(moved.gpus_freed, 8);
  EXPECT_THAT(moved.would_start, ::testing::ElementsAre("team/waits"));
}

TEST(Stranded, PodsOfTheSystemStayWhereTheyAre) {
  ClusterBuilder cluster;
  cluster.node("n1", 8);
  cluster.node("n2", 8);
  for (const auto* node : {"n1", "n2"})
    cluster.owned_by(cluster.pod(std::string{"agent-"} + node, 4, node), "DaemonSet", "agent");
  EXPECT_EQ(summary_of(cluster).defragmentation.moves, 0);
}

}  // namespace
}  // namespace weir::observe
