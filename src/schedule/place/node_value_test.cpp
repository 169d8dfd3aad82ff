// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/node_value.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/place/expected_tasks_testing.h"
#include "schedule/place/packing_search_testing.h"

namespace weir::schedule {
namespace {

// One sample that holds every shape.
constexpr NodeValueOptions kCertain{.samples = 1, .horizon = 1e9};

struct Valued {
  TargetWorkload target;
  std::vector<std::int64_t> values;
};

// `total` may be more than the counts: the rest of the tasks needs no GPU.
TargetWorkload a_target(std::vector<ExpectedShape> shapes, std::int64_t total) {
  TargetWorkload target;
  target.shapes = std::move(shapes);
  target.total = total;
  return target;
}

Valued random_workload(SeededRng& rng) {
  Valued valued;
  for (std::uint64_t i = 0, count = 1 + rng.below(5); i < count; ++i) {
    const Shape shape = random_gpu_shape(rng);
    const auto tasks = static_cast<std::int64_t>(1 + rng.below(30));
    valued.target.shapes.push_back({shape, tasks});
    valued.target.total += tasks + static_cast<std::int64_t>(rng.below(500));
    valued.values.push_back(static_cast<std::int64_t>(
        rng.below(static_cast<std::uint64_t>(shape.gpu_total().value) * 1000 + 1)));
  }
  return valued;
}

const std::vector<NodeClass> kNodes{{gpu_node(6000, 3, 0), 1}, {gpu_node(5000, 2, 1), 1}};

std::int64_t value_by_search(const Valued& valued, const NodeState& node) {
  const CpuGrid grid{MilliCpu{6000}};
  std::vector<PackItem> items;
  for (std::size_t i = 0; i < valued.values.size(); ++i) {
    const Shape& shape = valued.target.shapes[i].shape;
    if (valued.values[i] == 0 || !shape.models.accepts(node.model)) continue;
    items.push_back({grid.rounded_up(shape.cpu), static_cast<std::size_t>(shape.gpu_share.value),
                     static_cast<std::size_t>(shape.gpu_count),
                     static_cast<std::int32_t>(valued.values[i]), i});
  }
  std::vector<std::size_t> gpus;
  for (std::size_t g = 0; g < node.gpu_count; ++g)
    gpus.push_back(static_cast<std::size_t>(node.free_gpu[g]));
  return best_by_search(items, gpus, grid.rounded_down(node.free_cpu));
}

TEST(NodeValue, IsTheBestPackingOfTheShapesThatAreSureToCome) {
  SeededRng rng{31};
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const Valued valued = random_workload(rng);
    NodeValue exact{valued.target, valued.values, kNodes, kCertain};
    NodeValue sampled{valued.target, valued.values, kNodes};
    for (int k = 0; k < 5; ++k) {
      const NodeState node = random_state(rng, 3, 6000);
      EXPECT_EQ(exact.value(node), value_by_search(valued, node));
      EXPECT_LE(sampled.value(node), exact.value(node));
    }
  }
}

TEST(NodeValue, DependsNeitherOnOrderNorNumberingNorOnWhatTheMemoHolds) {
  SeededRng rng{32};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    Valued valued = random_workload(rng);
    NodeValue one{valued.target, valued.values, kNodes};
    std::reverse(valued.target.shapes.begin(), valued.target.shapes.end());
    std::reverse(valued.values.begin(), valued.values.end());
    NodeValue other{valued.target, valued.values, kNodes, {.memo_entries = 2}};
    std::vector<NodeState> nodes;
    std::vector<std::int64_t> values;
    for (int k = 0; k < 8; ++k) {
      nodes.push_back(random_state(rng, 3, 6000));
      values.push_back(one.value(nodes.back()));
    }
    for (std::size_t k = nodes.size(); k-- > 0;) {
      std::reverse(nodes[k].free_gpu.begin(), nodes[k].free_gpu.begin() + nodes[k].gpu_count);
      EXPECT_EQ(other.value(nodes[k]), values[k]);
    }
  }
}

TEST(NodeValue, NeverGrowsWhenATaskTakesItsPart) {
  SeededRng rng{33};
  for (int round = 0; round < 200; ++round) {
    const Valued valued = random_workload(rng);
    NodeValue node_value{valued.target, valued.values, kNodes};
    NodeState node = random_state(rng, 3, 6000);
    const Shape task = random_gpu_shape(rng);
    if (!fits(node, task)) continue;
    const std::int64_t before = node_value.value(node);
    take(node, task, tightest_gpus(node, task));
    EXPECT_LE(node_value.value(node), before);
  }
}

TEST(NodeValue, CountsRareShapesLessThanCommonOnes) {
  // One node with one GPU. The share of samples that hold a shape is 1 - exp(-100 p): all of them
  // at p = 0.9, about 1 in 200 at p = 5e-5, which is in none of the 16.
  const NodeState node = gpu_node(4000, 1);
  const std::vector<NodeClass> nodes{{node, 1}};
  const Shape shape = gpu_task(1000, 1);
  const std::vector<std::int64_t> worth{1'000'000};
  NodeValue common{a_target({{shape, 90}}, 100), worth, nodes};
  NodeValue rare{a_target({{shape, 1}}, 20'000), worth, nodes};
  EXPECT_EQ(common.value(node), 1'000'000);
  EXPECT_LT(rare.value(node), 200'000);
}

TEST(NodeValue, HandlesNodesOfSixteenGpusAndNodesWithout) {
  const std::vector<NodeClass> nodes{{gpu_node(64'000, 16), 1}, {gpu_node(32'000, 0), 1}};
  const TargetWorkload target = a_target({{gpu_task(2000, 8), 5}, {share_task(1000, 500), 5}}, 10);
  NodeValue node_value{target, std::vector<std::int64_t>{8'000'000, 400'000}, nodes, kCertain};
  NodeState node = gpu_node(64'000, 16);
  EXPECT_EQ(node_value.value(node), 16'000'000);  // two tasks of eight
  node.free_gpu[3] = 600;
  EXPECT_EQ(node_value.value(node), 8'000'000 + 15 * 400'000);  // one of eight, 7 * 2 + 1 halves
  EXPECT_EQ(node_value.value(gpu_node(32'000, 0)), 0);
}

TEST(NodeValue, IsZeroWhenNothingIsExpected) {
  NodeValue node_value{TargetWorkload{}, {}, kNodes};
  EXPECT_EQ(node_value.value(gpu_node(6000, 3)), 0);
}

}  // namespace
}  // namespace weir::schedule
