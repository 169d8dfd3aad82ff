// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/expected_value.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>

#include "schedule/place/expected_tasks_testing.h"
#include "schedule/place/policies.h"
#include "schedule/place/score_index.h"

namespace weir::schedule {
namespace {

Prospect random_prospect(SeededRng& rng) {
  std::vector<ExpectedShape> counts;
  for (std::uint64_t i = 0, count = 1 + rng.below(6); i < count; ++i) {
    counts.push_back({random_gpu_shape(rng), static_cast<std::int64_t>(1 + rng.below(40))});
  }
  counts.push_back({cpu_task(1500), static_cast<std::int64_t>(rng.below(10))});
  return Prospect{make_target_workload(counts, 100),
                  {{gpu_node(6000, 3, 0), 4}, {gpu_node(8000, 4, 1), 2}, {gpu_node(9000, 0), 1}}};
}

NodeState random_node(SeededRng& rng) {
  return rng.below(6) == 0 ? gpu_node(static_cast<std::int64_t>(rng.below(9001)), 0)
                           : random_state(rng, 3, 6000);
}

Shape random_task(SeededRng& rng) {
  return rng.below(5) == 0 ? cpu_task(static_cast<std::int64_t>(rng.below(4)) * 700)
                           : random_gpu_shape(rng);
}

// The lowest level over every set of GPUs the task may take.
std::int64_t least_level(const ExpectedValueScorer& scorer, const NodeState& node,
                         const Shape& shape) {
  std::int64_t least = INT64_MAX;
  for (unsigned bits = 0; bits < 1U << node.gpu_count; ++bits) {
    const GpuMask gpus{static_cast<std::uint16_t>(bits)};
    if (!is_valid_choice(node, shape, gpus)) continue;
    least = std::min(least, ExpectedValueScorer::level(scorer.loss(node, shape, gpus)));
  }
  return least;
}

TEST(ExpectedValue, ScoresByTheLeastLossOverAllGpusAndChoosesThose) {
  SeededRng rng{41};
  int scored = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const Prospect prospect = random_prospect(rng);
    const ExpectedValueScorer scorer{prospect.outlook()};
    for (int k = 0; k < 20; ++k) {
      const NodeState node = random_node(rng);
      const Shape task = random_task(rng);
      if (!fits(node, task)) continue;
      ++scored;
      const std::int64_t least = least_level(scorer, node, task);
      EXPECT_EQ(scorer.score(node, task), ExpectedValueScorer::score_of(least));
      const GpuMask gpus = scorer.choose_gpus(node, task, 0);
      ASSERT_TRUE(is_valid_choice(node, task, gpus));
      EXPECT_EQ(ExpectedValueScorer::level(scorer.loss(node, task, gpus)), least);
    }
  }
  EXPECT_GT(scored, 1000);
}

TEST(ExpectedValue, FillsASmallClusterLikeBruteForceOverLosses) {
  SeededRng rng{42};
  int placed = 0;
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    const Prospect prospect = random_prospect(rng);
    const ExpectedValueScorer scorer{prospect.outlook()};
    std::vector<NodeState> empty;
    for (const NodeClass& node_class : prospect.node_classes) {
      empty.insert(empty.end(), static_cast<std::size_t>(node_class.count), node_class.empty);
    }
    rng.shuffle(empty);
    NodeTable nodes;
    for (const NodeState& node : empty) nodes.push_back(node);
    ScoreIndex index{nodes};
    std::vector<Shape> shapes;
    for (int m = 0; m < 5; ++m) shapes.push_back(random_task(rng));

    for (int k = 0; k < 30; ++k) {
      const ShapeIndex number{static_cast<std::uint32_t>(rng.below(shapes.size()))};
      const Shape& task = shapes[number.value];
      std::optional<NodeIndex> expected;
      std::int64_t least = INT64_MAX;
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        if (!fits(nodes[i], task)) continue;
        const std::int64_t candidate = least_level(scorer, nodes[i], task);
        if (!expected || candidate < least) expected = NodeIndex{i};
        least = std::min(least, candidate);
      }
      const auto found =
          index.best(NodeView{nodes}, number, task, scorer, TieBreak::first_in_order, 0);
      ASSERT_EQ(found.has_value(), expected.has_value());
      if (!found) continue;
      ASSERT_EQ(found->node, *expected);
      NodeState& node = nodes.at_for_write(found->node.value);
      take(node, task, scorer.choose_gpus(node, task, 0));
      index.touch(found->node);
      ++placed;
    }
  }
  EXPECT_GT(placed, 300);
}

TEST(ExpectedValue, ScoreIsAPureFunctionWhateverWasLookedUpBefore) {
  SeededRng rng{43};
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Prospect prospect = random_prospect(rng);
    const ExpectedValueScorer steady{prospect.outlook()};
    const ExpectedValueScorer forgetful{prospect.outlook(), {.memo_entries = 1}};
    std::vector<std::pair<NodeState, Shape>> asked;
    std::vector<Score> scores;
    for (int k = 0; k < 30; ++k) {
      const NodeState node = random_node(rng);
      const Shape task = random_task(rng);
      if (!fits(node, task)) continue;
      asked.emplace_back(node, task);
      scores.push_back(steady.score(node, task));
    }
    for (std::size_t i = asked.size(); i-- > 0;) {
      EXPECT_EQ(steady.score(asked[i].first, asked[i].second), scores[i]);
      EXPECT_EQ(forgetful.score(asked[i].first, asked[i].second), scores[i]);
    }
  }
}

TEST(ExpectedValue, OrderOfNodeClassesAndShapesHasNoSay) {
  SeededRng rng{44};
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Prospect prospect = random_prospect(rng);
    const ExpectedValueScorer one{prospect.outlook()};
    std::reverse(prospect.node_classes.begin(), prospect.node_classes.end());
    std::reverse(prospect.target.shapes.begin(), prospect.target.shapes.end());
    const ExpectedValueScorer other{prospect.outlook()};
    for (int k = 0; k < 20; ++k) {
      const NodeState node = random_node(rng);
      const Shape task = random_task(rng);
      if (fits(node, task)) {
        EXPECT_EQ(one.score(node, task), other.score(node, task));
      }
    }
  }
}

TEST(ExpectedValue, LossIsTheValueTheRestLosesBeyondTheTask) {
  // One model and only tasks of 600 milli, one per GPU: the price of a task is 0, its value 600,
  // and so is that of a free GPU. CPU is plentiful: 8 cores per GPU where a task asks for one.
  const NodeState node = gpu_node(16'000, 2);
  const Prospect prospect{make_target_workload({{share_task(1000, 600), 100}}), {{node, 10}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  GpuMask first;
  first.insert(0);
  // V goes from 1200 to 600, the task is worth 600: no loss.
  EXPECT_EQ(scorer.loss(node, share_task(1000, 600), first), 0);
  // An unexpected half has value 500 and spoils a GPU worth 600.
  EXPECT_EQ(scorer.loss(node, share_task(1000, 500), first), 100 * kMicroPerMilli);
  // Where 400 are left no expected task fits any more: a 400 loses nothing and brings its value.
  NodeState used = node;
  take(used, share_task(1000, 600), first);
  EXPECT_EQ(scorer.loss(used, share_task(1000, 400), first), -400 * kMicroPerMilli);
}

TEST(ExpectedValue, KeepsAScarceModelForTheTasksThatNeedIt) {
  // Half the demand needs model 1, a fifth of the GPUs. P = 0.5 for model 0 and 0.5 + 0.5 / 0.2 = 3
  // for model 1, so a whole GPU of model 1 costs 0.3 * 1000 * 2.5 = 750 milli more.
  const Prospect prospect{
      make_target_workload({{gpu_task(1000, 1), 50}, {gpu_task(1000, 1, models({1})), 50}}, 100),
      {{gpu_node(8000, 4, 0), 8}, {gpu_node(8000, 4, 1), 2}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  GpuMask first;
  first.insert(0);
  const Shape task = gpu_task(1000, 1);
  const std::int64_t common = scorer.loss(gpu_node(8000, 4, 0), task, first);
  const std::int64_t scarce = scorer.loss(gpu_node(8000, 4, 1), task, first);
  EXPECT_NEAR(static_cast<double>(scarce - common), 750.0 * kMicroPerMilli, 2.0);
  EXPECT_GT(scorer.score(gpu_node(8000, 4, 0), task), scorer.score(gpu_node(8000, 4, 1), task));
}

TEST(ExpectedValue, SendsCpuOnlyTasksWhereNoGpuMissesTheCpu) {
  const Prospect prospect{make_target_workload({{gpu_task(4000, 1), 100}}),
                          {{gpu_node(32'000, 8), 10}, {gpu_node(32'000, 0), 1}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  const Shape task = cpu_task(8000);
  EXPECT_EQ(scorer.loss(gpu_node(32'000, 0), task, {}), 0);
  EXPECT_GT(scorer.score(gpu_node(32'000, 0), task), scorer.score(gpu_node(32'000, 8), task));
}

TEST(ExpectedValue, FindsAllNodesEqualWhenNothingIsExpected) {
  const Prospect prospect{
      TargetWorkload{},
      {{gpu_node(32'000, 8), 2}, {gpu_node(4000, 2, 1), 1}, {gpu_node(8000, 0), 1}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  for (const Shape& task : {share_task(1000, 300), gpu_task(2000, 1), gpu_task(0, 2)}) {
    EXPECT_EQ(scorer.score(gpu_node(32'000, 8), task), scorer.score(gpu_node(4000, 2, 1), task));
  }
  EXPECT_EQ(scorer.score(gpu_node(32'000, 8), cpu_task(500)),
            scorer.score(gpu_node(8000, 0), cpu_task(500)));
}

TEST(ExpectedValue, WorksInAClusterWithoutGpus) {
  const Prospect prospect{make_target_workload({{gpu_task(4000, 1), 100}}),
                          {{gpu_node(8000, 0), 1}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  EXPECT_EQ(scorer.loss(gpu_node(8000, 0), cpu_task(1000), {}), 0);
}

TEST(ExpectedValue, TakesNodesOfSixteenGpus) {
  // Tasks of nine GPUs: one per node, whatever else is free there.
  const NodeState node = gpu_node(128'000, 16);
  const Prospect prospect{make_target_workload({{gpu_task(4000, 9), 10}}), {{node, 4}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  EXPECT_EQ(scorer.choose_gpus(node, gpu_task(4000, 16), 0).count(), 16);

  NodeState nine_left = node;
  take(nine_left, gpu_task(0, 7), first_whole_gpus(node, 7));
  NodeState nine_and_a_rest = nine_left;
  nine_and_a_rest.free_gpu[6] = 700;
  EXPECT_TRUE(scorer.choose_gpus(nine_and_a_rest, share_task(1000, 300), 0).contains(6));
  EXPECT_GT(scorer.score(nine_and_a_rest, share_task(1000, 300)),
            scorer.score(nine_left, share_task(1000, 300)));
}

TEST(ExpectedValue, LevelsBecomeScoresThatSaturateAtBothEnds) {
  EXPECT_EQ(ExpectedValueScorer::level(0), 0);
  EXPECT_EQ(ExpectedValueScorer::level(-30 * kMicroPerMilli), 0);
  EXPECT_EQ(ExpectedValueScorer::level(-31 * kMicroPerMilli), -1);
  EXPECT_EQ(ExpectedValueScorer::level(10 * kMicroPerMilli), 1);
  EXPECT_EQ(ExpectedValueScorer::score_of(-64), kMaxScore);
  EXPECT_EQ(ExpectedValueScorer::score_of(-63), kMaxScore - 1);
  EXPECT_EQ(ExpectedValueScorer::score_of(-500), kMaxScore);
  EXPECT_EQ(ExpectedValueScorer::score_of(190), 0);
  EXPECT_EQ(ExpectedValueScorer::score_of(500), 0);
}

TEST(ExpectedValue, PricesOnlyTheLargestDemandsOfManyShapes) {
  std::vector<ExpectedShape> counts;
  for (std::int64_t i = 0; i < 600; ++i)
    counts.push_back({share_task(100 * (i % 40), 100 + i), 1 + i % 7});
  const NodeState node = gpu_node(32'000, 2);
  const Prospect prospect{make_target_workload(counts, 100), {{node, 3}}};
  const ExpectedValueScorer scorer{prospect.outlook()};
  EXPECT_TRUE(is_valid_choice(node, counts[5].shape, scorer.choose_gpus(node, counts[5].shape, 0)));
}

TEST(ExpectedValue, IsInTheTableOfPolicies) {
  const PlacementPolicy* policy = find_placement_policy("ev-plus");
  ASSERT_NE(policy, nullptr);
  EXPECT_TRUE(policy->uses_target());
  EXPECT_EQ(policy->tie_break(), TieBreak::first_in_order);
}

}  // namespace
}  // namespace weir::schedule
