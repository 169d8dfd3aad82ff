// SPDX-License-Identifier: Apache-2.0
#include "schedule/node_state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

TEST(Fits, NeedsTheShareOnASingleGpu) {
  const NodeState node = a_node().free({500, 500});
  EXPECT_TRUE(fits(node, a_task().share(500)));
  EXPECT_FALSE(fits(node, a_task().share(501)));  // 1000 milli are free, but on two GPUs
}

TEST(Fits, NeedsCpuAndMemory) {
  const NodeState node = a_node().cpu(4).memory(1000).free({1000});
  EXPECT_TRUE(fits(node, a_task().cpu(4).memory(1000).gpus(1)));
  EXPECT_FALSE(fits(node, a_task().cpu(5).memory(1000).gpus(1)));
  EXPECT_FALSE(fits(node, a_task().cpu(4).memory(1001).gpus(1)));
}

TEST(Fits, WholeGpusMustBeEntirelyFree) {
  const NodeState node = a_node().free({1000, 999, 1000});
  EXPECT_TRUE(fits(node, a_task().gpus(2)));
  EXPECT_FALSE(fits(node, a_task().gpus(3)));
}

TEST(Fits, AnEmptyModelSetAcceptsAnyNodeAndANamedModelOnlyThatOne) {
  EXPECT_TRUE(fits(a_node().free({1000}).model(1), a_task().gpus(1)));
  EXPECT_TRUE(fits(a_node().free({1000}).model(1), a_task().gpus(1).on(1)));
  EXPECT_FALSE(fits(a_node().free({1000}).model(1), a_task().gpus(1).on(0).on(2)));
  EXPECT_TRUE(fits(a_node(), a_task().cpu(1)));  // a node without GPUs runs CPU-only tasks
  EXPECT_FALSE(fits(a_node(), a_task().share(1)));
}

TEST(Fits, NothingFitsOnANodeThatIsDown) {
  NodeState node = a_node().free({1000});
  node.is_up = false;
  EXPECT_FALSE(fits(node, a_task()));
}

TEST(GpuChoice, TightestIsTheLeastFreeThatFitsLowestNumberFirst) {
  const NodeState node = a_node().free({1000, 300, 500, 500});
  EXPECT_EQ(tightest_gpus(node, a_task().share(400)), gpus({2}));
  EXPECT_EQ(tightest_gpus(node, a_task().share(300)), gpus({1}));
  EXPECT_EQ(tightest_gpus(node, a_task().share(501)), gpus({0}));
  EXPECT_EQ(tightest_gpus(node, a_task().cpu(1)), gpus({}));
}

TEST(GpuChoice, WholeGpusAreTheLowestNumberedFreeOnes) {
  const NodeState node = a_node().free({1000, 300, 1000, 1000});
  EXPECT_EQ(first_whole_gpus(node, 2), gpus({0, 2}));
  EXPECT_EQ(tightest_gpus(node, a_task().gpus(3)), gpus({0, 2, 3}));
}

TEST(Gate, RejectsChoicesThatDoNotFit) {
  const NodeState node = a_node().free({1000, 300});
  EXPECT_TRUE(is_valid_choice(node, a_task().share(300), gpus({1})));
  EXPECT_FALSE(is_valid_choice(node, a_task().share(301), gpus({1})));
  EXPECT_FALSE(is_valid_choice(node, a_task().share(300), gpus({0, 1})));
  EXPECT_FALSE(is_valid_choice(node, a_task().share(300), gpus({2})));  // there is no GPU 2
  EXPECT_FALSE(is_valid_choice(node, a_task().gpus(2), gpus({0, 1})));
}

TEST(TaskKinds, AreToldApartByGpuAppetite) {
  EXPECT_EQ(kind_of(a_task().share(999)), TaskKind::share);
  EXPECT_EQ(kind_of(a_task().share(1000)), TaskKind::one);
  EXPECT_EQ(kind_of(a_task().gpus(8)), TaskKind::eight);
  EXPECT_EQ(kind_of(a_task().gpus(3)), TaskKind::other);
}

RC_GTEST_PROP(NodeState, TakingThenGivingBackRestoresItExactly, ()) {
  const NodeState node = any_node();
  const Shape shape = any_shape();
  RC_PRE(fits(node, shape));
  const GpuMask mask = tightest_gpus(node, shape);
  NodeState after = node;
  take(after, shape, mask);
  RC_ASSERT(after.free_gpu_total() == node.free_gpu_total() - shape.gpu_total());
  RC_ASSERT(after.free_cpu >= MilliCpu{0});
  RC_ASSERT(after.free_memory >= Mebibytes{0});
  for (const std::int16_t free : after.free_gpu) RC_ASSERT(free >= 0);
  give_back(after, shape, mask);
  RC_ASSERT(after == node);
}

}  // namespace
}  // namespace weir::schedule
