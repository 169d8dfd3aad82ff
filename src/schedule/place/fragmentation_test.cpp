// SPDX-License-Identifier: Apache-2.0
//
// The measure's definition, its fast form, and the invariants that make it a measure.
#include "schedule/place/fragmentation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

std::int64_t weighted_by_definition(const NodeState& node, const TargetWorkload& target) {
  std::int64_t sum = 0;
  for (const ExpectedShape& expected : target.shapes)
    sum += expected.count * fragment_for(node, expected.shape);
  return sum;
}

// R = [400, 1000], 10 cores. A = (2 cores, 500 milli) 50 %, B = (4, one GPU) 30 %, C = (4, two
// GPUs) 20 %.
class WorkedExample : public ::testing::Test {
 protected:
  TargetWorkload target_ = target_of({{a_task().cpu(2).share(500), 5},
                                      {a_task().cpu(4).gpus(1), 3},
                                      {a_task().cpu(4).gpus(2), 2}});
  NodeState node_ = a_node().cpu(10).free({400, 1000});
};

TEST_F(WorkedExample, FragmentIsWhatExpectedTasksCannotUse) {
  // A and B run on GPU 1, so only GPU 0's 400 are lost; C does not run, so all 1400 are.
  EXPECT_EQ(fragment_for(node_, a_task().cpu(2).share(500)), 400);
  EXPECT_EQ(fragment_for(node_, a_task().cpu(4).gpus(1)), 400);
  EXPECT_EQ(fragment_for(node_, a_task().cpu(4).gpus(2)), 1400);
  EXPECT_EQ(Fragmentation{target_}.weighted(node_), 10 * 600);
}

TEST_F(WorkedExample, APlacementOnTheFragmentGainsAndOnTheFreeGpuLoses) {
  const Fragmentation fragmentation{target_};
  const Shape task = a_task().cpu(2).share(300);
  EXPECT_EQ(fragmentation.gain_on(node_, task, 0), 10 * 300);
  EXPECT_EQ(fragmentation.gain_on(node_, task, 1), 10 * -150);
  EXPECT_EQ(fragmentation.gain(node_, task), 10 * 300);
}

TEST(Fragmentation, OfATaskWithoutCpuIsAllThatIsFree) {
  const NodeState node = a_node().cpu(1).free({1000, 1000});
  EXPECT_EQ(fragment_for(node, a_task().cpu(2).share(100)), 2000);
}

TEST(Fragmentation, OfAModelThatIsNotAcceptedIsAllThatIsFree) {
  EXPECT_EQ(fragment_for(a_node().free({1000}).model(1), a_task().share(100).on(0)), 1000);
  EXPECT_EQ(fragment_for(a_node().free({1000}).model(1), a_task().share(100).on(1)), 0);
}

TEST(Fragmentation, LoweringOneShareCanRaiseOrLowerIt) {
  const Fragmentation fragmentation{target_of({{a_task().share(500), 1}})};
  const std::int64_t before = fragmentation.weighted(a_node().free({500, 400}));  // 400 is lost
  EXPECT_GT(fragmentation.weighted(a_node().free({499, 400})), before);           // all is lost
  EXPECT_LT(fragmentation.weighted(a_node().free({500, 300})), before);           // less is lost
}

RC_GTEST_PROP(Fragmentation, ClosedFormEqualsTheDefinition, ()) {
  const TargetWorkload target = any_target();
  const NodeState node = any_node();
  RC_ASSERT(Fragmentation{target}.weighted(node) == weighted_by_definition(node, target));
}

RC_GTEST_PROP(Fragmentation, GainEqualsBeforeMinusAfterOnTheBestGpu, ()) {
  const TargetWorkload target = any_target();
  const NodeState node = any_node();
  const Shape shape = any_shape();
  RC_PRE(fits(node, shape));
  const Fragmentation fragmentation{target};
  const auto gain_with = [&](GpuMask mask) {
    NodeState after = node;
    take(after, shape, mask);
    return weighted_by_definition(node, target) - weighted_by_definition(after, target);
  };
  if (!shape.shares_gpu()) {
    RC_ASSERT(fragmentation.gain(node, shape) == gain_with(tightest_gpus(node, shape)));
    return;
  }
  std::vector<std::int64_t> gains;
  for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
    if (node.free_gpu[static_cast<std::size_t>(gpu)] < shape.gpu_share.value) continue;
    gains.push_back(gain_with(gpus({gpu})));
    RC_ASSERT(fragmentation.gain_on(node, shape, gpu) == gains.back());
  }
  RC_ASSERT(fragmentation.gain(node, shape) == *std::max_element(gains.begin(), gains.end()));
}

RC_GTEST_PROP(Fragmentation, LiesBetweenNothingAndAllThatIsFree, ()) {
  const NodeState node = any_node();
  const std::int64_t fragment = fragment_for(node, any_shape());
  RC_ASSERT(fragment >= 0);
  RC_ASSERT(fragment <= node.free_gpu_total().value);
}

RC_GTEST_PROP(Fragmentation, DoesNotDependOnHowGpusAreNumbered, ()) {
  const TargetWorkload target = any_target();
  NodeState node = any_node();
  const std::int64_t before = Fragmentation{target}.weighted(node);
  std::sort(node.free_gpu.begin(), node.free_gpu.begin() + node.gpu_count);
  RC_ASSERT(Fragmentation{target}.weighted(node) == before);
}

RC_GTEST_PROP(Fragmentation, OfAFullNodeIsNothing, ()) {
  const TargetWorkload target = any_target();
  NodeState node = any_node();
  node.free_gpu.fill(0);
  RC_ASSERT(Fragmentation{target}.weighted(node) == 0);
}

RC_GTEST_PROP(Fragmentation, ForCpuOnlyTasksIsAllThatIsFree, ()) {
  const NodeState node = any_node();
  RC_ASSERT(fragment_for(node, a_task().cpu(1)) == node.free_gpu_total().value);
}

RC_GTEST_PROP(Fragmentation, AShapeNobodyAsksForChangesNothing, ()) {
  TargetWorkload target = any_target();
  const NodeState node = any_node();
  const std::int64_t before = Fragmentation{target}.weighted(node);
  target.shapes.push_back({any_shape(), 0});
  RC_ASSERT(Fragmentation{target}.weighted(node) == before);
}

RC_GTEST_PROP(Fragmentation, OnlyRelativePopularityCounts, ()) {
  const TargetWorkload target = any_target();
  const NodeState node = any_node();
  TargetWorkload tripled = target;
  tripled.total *= 3;
  for (ExpectedShape& expected : tripled.shapes) expected.count *= 3;
  RC_ASSERT(Fragmentation{tripled}.weighted(node) == 3 * Fragmentation{target}.weighted(node));
}

RC_GTEST_PROP(Fragmentation, PlacingThenRemovingRestoresIt, ()) {
  const TargetWorkload target = any_target();
  NodeState node = any_node();
  const Shape shape = any_shape();
  RC_PRE(fits(node, shape));
  const Fragmentation fragmentation{target};
  const std::int64_t before = fragmentation.weighted(node);
  const GpuMask mask = tightest_gpus(node, shape);
  take(node, shape, mask);
  give_back(node, shape, mask);
  RC_ASSERT(fragmentation.weighted(node) == before);
}

RC_GTEST_PROP(Fragmentation, AcceptingOneModelLessNeverLowersIt, ()) {
  const NodeState node = any_node();
  Shape shape = any_shape();
  RC_PRE(!shape.is_cpu_only());
  shape.models = GpuModelSet{};
  shape.models.insert(model(0));
  shape.models.insert(model(1));
  const std::int64_t before = fragment_for(node, shape);
  shape.models.erase(model(*rc::gen::inRange(0, 2)));
  RC_ASSERT(fragment_for(node, shape) >= before);
}

RC_GTEST_PROP(Fragmentation, LessCpuNeverLowersIt, ()) {
  const TargetWorkload target = any_target();
  NodeState node = any_node();
  const Fragmentation fragmentation{target};
  const std::int64_t before = fragmentation.weighted(node);
  node.free_cpu -= MilliCpu{*rc::gen::inRange<std::int64_t>(0, node.free_cpu.value + 1)};
  RC_ASSERT(fragmentation.weighted(node) >= before);
}

}  // namespace
}  // namespace weir::schedule
