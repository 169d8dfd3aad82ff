// SPDX-License-Identifier: Apache-2.0
#include "predict/training/iteration_costs.h"

#include <gtest/gtest.h>

#include "predict/training/profile_testing.h"

namespace weir::predict {
namespace {

constexpr OpMeasure kEvery{.forward_us = 10,
                           .backward_us = 20,
                           .input_mib = 2,
                           .output_mib = 2,
                           .weight_mib = 3,
                           .activation_mib = 5,
                           .reserved_forward_mib = 4,
                           .reserved_backward_mib = 6};

// 16 operators alike; nothing comes in and nothing goes out at the ends.
OpProfile gpt_profile() {
  OpProfile profile = plain_profile("gpt", gpt_op_names(), kEvery);
  for (auto& table : profile.tables) {
    table.second.front().input_mib = 0;
    table.second.back().output_mib = 0;
  }
  return profile;
}

// Two stages of 8 operators; the second computes GEMM-1, gelu and GEMM-2 again.
TrainingPlan two_stages() {
  TrainingPlan plan{.batch = 4, .microbatch = 1, .stages = {}};
  plan.stages.assign(2, {1, std::vector<PlanOp>(8)});
  for (const std::size_t op : {2U, 3U, 4U}) plan.stages[1].ops[op].recompute = true;
  return plan;
}

PlanCost cost_of(const TrainingPlan& plan, CostModel model, PlanCluster cluster = {1, 2, 1000}) {
  return test_costs(gpt_profile(), 1, cluster, model).plan(plan).value();
}

TEST(IterationCosts, OfTwoStagesByHandInThePublishedModel) {
  const PlanCost cost = cost_of(two_stages(), CostModel::published);
  // Each stage: 8 x 10 forward, 8 x 20 backward. 2 MiB at the speed of 1 MiB, 10 GB/s: 200 us.
  EXPECT_DOUBLE_EQ(cost.stages[0].time.traverse, 80 + 160 + 200);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.recompute, 30);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.traverse, 80 + 160 + 30 + 200);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.pace, 470);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.finish(), 0);
  // Four microbatches: three at the stage's pace, one through all.
  EXPECT_DOUBLE_EQ(cost.stage_ms[0], (440 * 3 + 910) / 1000.0);
  EXPECT_DOUBLE_EQ(cost.stage_ms[1], (470 * 3 + 910) / 1000.0);
  EXPECT_DOUBLE_EQ(cost.iteration_ms, 2.32);
  EXPECT_EQ(cost.bottleneck, 1);
}

TEST(IterationCosts, OfTwoStagesByHandInTheFullModel) {
  const PlanCost cost = cost_of(two_stages(), CostModel::full);
  // 2 MiB at 20 GB/s: 100 us, hidden behind the 240 and 270 us that the stages are busy.
  EXPECT_DOUBLE_EQ(cost.stages[0].time.pace, 240);
  EXPECT_DOUBLE_EQ(cost.stages[0].time.traverse, 340);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.pace, 270);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.traverse, 370);
  // 24 MiB of weights: 8 x as much state is read and, but for the gradients, written, at 720 GB/s.
  const double optimizer = 24 * 15 * 1048576 / 720e3;
  EXPECT_DOUBLE_EQ(cost.stages[0].time.optimizer, optimizer);
  // 3 MiB of embedding at each end, between 2 MiB in 100 us and 4 MiB in 100 us.
  EXPECT_DOUBLE_EQ(cost.stages[0].time.tied, 100);
  EXPECT_DOUBLE_EQ(cost.stages[0].time.gradients, 0);
  EXPECT_DOUBLE_EQ(cost.iteration_ms, (270 * 3 + optimizer + 100 + 710) / 1000.0);
}

TEST(IterationCosts, MemoryOfTwoStagesByHand) {
  for (const CostModel model : {CostModel::published, CostModel::full}) {
    const PlanCost cost = cost_of(two_stages(), model);
    const StageMemory& front = cost.stages[0].memory;
    EXPECT_DOUBLE_EQ(front.weights, 24 * 3);  // fp16, and a copy in fp32
    EXPECT_DOUBLE_EQ(front.gradients, 24);
    EXPECT_DOUBLE_EQ(front.optimizer, 24 * 4);
    // Softmax counts for nothing, attention dropout for 1.5. Two microbatches are under way.
    EXPECT_DOUBLE_EQ(front.activations, 7.5 * 5);
    EXPECT_DOUBLE_EQ(front.peak, 7.5 * 5);
    EXPECT_DOUBLE_EQ(front.reserved, 24);  // not less than the weights
    EXPECT_DOUBLE_EQ(front.total(), 291);
    // GEMM-1 and gelu are saved, and live again at once in the backward pass.
    const StageMemory& back = cost.stages[1].memory;
    EXPECT_DOUBLE_EQ(back.activations, 0);
    EXPECT_DOUBLE_EQ(back.peak, (2 + 8 * 5 - 10) + 10);
    EXPECT_DOUBLE_EQ(cost.largest_memory_mib, 291);
  }
}

TEST(IterationCosts, AStageThatWaitsForItsLinksIsAsSlowAsTheyAre) {
  OpProfile profile = gpt_profile();
  profile.inside_node = {{1, 1}, {2, 1}};  // 2 MiB in 2000 us
  const auto costs = test_costs(profile, 1, {1, 2, 1000}, CostModel::full);
  const PlanCost cost = costs.plan(two_stages()).value();
  EXPECT_DOUBLE_EQ(cost.stages[0].time.pace, 2000);
  EXPECT_DOUBLE_EQ(cost.stages[0].time.traverse, 2240);
}

TEST(IterationCosts, StagesOnTwoNodesUseTheLinkBetweenThem) {
  // 2 MiB at the speed of 1 MiB, 1 GB/s.
  const PlanCost cost = cost_of(two_stages(), CostModel::published, {2, 1, 1000});
  EXPECT_DOUBLE_EQ(cost.stages[0].time.send, 2000);
  EXPECT_DOUBLE_EQ(cost.stages[1].time.receive, 2000);
}

TEST(IterationCosts, ReplicasAddUpTheirGradientsOnceInTheFullModel) {
  TrainingPlan plan{.batch = 8, .microbatch = 2, .stages = {}};
  plan.stages.push_back({2, std::vector<PlanOp>(16, {.dp = 2})});
  // 48 MiB on two GPUs: a ring moves 2 x 1/2 x 48 MiB, at 40 GB/s.
  EXPECT_DOUBLE_EQ(cost_of(plan, CostModel::full).stages[0].time.gradients, 1200);
  EXPECT_DOUBLE_EQ(cost_of(plan, CostModel::published).stages[0].time.gradients, 0);
  // One stage holds both ends of the model: nothing is tied.
  EXPECT_DOUBLE_EQ(cost_of(plan, CostModel::full).stages[0].time.tied, 0);
}

TEST(IterationCosts, ThePublishedModelLeavesOutTheLastOperatorsWorkspace) {
  OpProfile profile = gpt_profile();
  for (auto& table : profile.tables) table.second.back().reserved_forward_mib = 500;
  TrainingPlan plan{.batch = 4, .microbatch = 1, .stages = {{1, std::vector<PlanOp>(16)}}};
  const PlanCluster one{1, 1, 1000};
  const auto published = test_costs(profile, 1, one, CostModel::published).plan(plan).value();
  const auto full = test_costs(profile, 1, one, CostModel::full).plan(plan).value();
  EXPECT_DOUBLE_EQ(published.stages[0].memory.reserved, 48);
  EXPECT_DOUBLE_EQ(full.stages[0].memory.reserved, 506);
}

TEST(IterationCosts, ThePublishedModelForgetsARunThatIsOpenAtTheEnd) {
  // Attention dropout does not end a run, so a stage that ends behind it leaves one open.
  for (const CostModel model : {CostModel::published, CostModel::full}) {
    const auto costs = test_costs(gpt_profile(), 1, {1, 2, 1000}, model);
    std::vector<PlanOp> ops(7);
    for (const std::size_t op : {5U, 6U}) ops[op].recompute = true;
    EXPECT_DOUBLE_EQ(costs.saved_by_recomputing_mib(0, ops, 1), 7.5);
    EXPECT_DOUBLE_EQ(costs.peak_recomputed_mib(0, ops, 1), model == CostModel::published ? 0 : 7.5);
  }
}

TEST(IterationCosts, NothingIsSavedBeforeABlockStarts) {
  const auto costs = test_costs(gpt_profile(), 2, {1, 2, 1000}, CostModel::full);
  std::vector<PlanOp> ops(29);
  ops[13].recompute = ops[14].recompute = true;  // post-MLP-dropout and the next layernorm
  EXPECT_DOUBLE_EQ(costs.saved_by_recomputing_mib(0, ops, 1), 0);
  EXPECT_DOUBLE_EQ(costs.peak_recomputed_mib(0, ops, 1), 5);
  ops[26].recompute = ops[27].recompute = true;  // the last layer's, and the final layernorm
  EXPECT_DOUBLE_EQ(costs.saved_by_recomputing_mib(0, ops, 1), 5);
}

TEST(IterationCosts, WhereLayoutsDifferDataMoves) {
  OpProfile profile = gpt_profile();
  profile.collectives[{Collective::all_gather, 2}] = {{2, 0.3}};
  const auto costs = test_costs(profile, 1, {1, 2, 1000}, CostModel::published);
  std::vector<PlanOp> ops(16, {.tp = 2});
  ops[2].dim = 1;  // qkv takes split input and gives copies
  const auto cost = costs.stage(0, ops, 2, {});
  // To qkv a local split forward; from qkv to the score, which wants it split, another one.
  EXPECT_DOUBLE_EQ(cost.time.reshard_forward, 0);
  EXPECT_DOUBLE_EQ(cost.time.reshard_backward, 2 * 300);
}

TEST(IterationCosts, ThePublishedModelLooksUpTheLastOutputAtTheFirstDegree) {
  OpProfile profile = gpt_profile();
  profile.tables[{2, 2, 0}][7].output_mib = 4;  // 400 us at 10 GB/s: a step below
  profile.tables[{1, 1, 0}][7].output_mib = 1;
  std::vector<PlanOp> ops(8, {.tp = 2});
  ops.back() = {.tp = 1, .dp = 2};
  const auto published = test_costs(profile, 1, {1, 4, 1000}, CostModel::published);
  const auto full = test_costs(profile, 1, {1, 4, 1000}, CostModel::full);
  // Degree 2 of the first, microbatch 2 / 2 of the last: not the 1 MiB of the last operator itself.
  EXPECT_DOUBLE_EQ(published.stage(0, ops, 2, {}).time.send, 200);
  EXPECT_DOUBLE_EQ(full.stage(0, ops, 2, {}).time.send, 100);
}

TEST(IterationCosts, WithoutTensorParallelismOneMeasurementMayServeBothDimensions) {
  OpProfile profile = gpt_profile();
  profile.tables[{1, 1, 1}][4].forward_us = 1;
  const auto as_measured = test_costs(profile, 1, {1, 1, 1000}, CostModel::published);
  const auto one = test_costs(profile, 1, {1, 1, 1000}, CostModel::full);
  EXPECT_EQ(as_measured.rows({1, 1, 1})[4].forward_us, 1);
  EXPECT_EQ(one.rows({1, 1, 1})[4].forward_us, 10);
}

TEST(IterationCosts, AResidualNetworkKeepsNoCopyOfItsWeights) {
  const auto costs = test_costs(plain_profile("resnet", resnet_op_names(1), kEvery), 0,
                                {1, 1, 1000}, CostModel::published);
  const std::vector<PlanOp> ops(14);
  const StageMemory memory = costs.stage(0, ops, 1, {}).memory;
  EXPECT_DOUBLE_EQ(memory.weights, 42);
  EXPECT_DOUBLE_EQ(memory.optimizer, 84);
}

TEST(IterationCosts, ARowThatNobodyMeasuredIsNotThere) {
  const auto costs = test_costs(gpt_profile(), 1, {1, 4, 1000}, CostModel::full);
  EXPECT_TRUE(costs.has(4, 4, 1));
  EXPECT_FALSE(costs.has(3, 1, 0));
  EXPECT_FALSE(costs.has(8, 1, 0));
  EXPECT_FALSE(costs.has(0, 1, 0));
  EXPECT_FALSE(costs.has(1, 8, 0));
  EXPECT_FALSE(costs.has(1, 128, 0));
  EXPECT_EQ(costs.microbatches(), (std::vector<int>{1, 2, 4}));
}

TEST(IterationCosts, AProfileWithoutLinksOrMeasurementsIsRefused) {
  OpProfile profile = gpt_profile();
  profile.inside_node.clear();
  EXPECT_FALSE(IterationCosts::make(profile, 1, {1, 1, 1}, {}));
  profile = gpt_profile();
  profile.tables.clear();
  EXPECT_FALSE(IterationCosts::make(profile, 1, {1, 1, 1}, {}));
}

// Laws that hold whatever was measured.
TEST(IterationCosts, MoreStagesBehindNeedMoreMemoryAndRecomputingNeedsLessButForThePeak) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SeededRng rng{seed};
    const auto costs = test_costs(random_gpt_profile(seed), 3, {1, 4, 1000}, CostModel::full);
    std::vector<PlanOp> ops(20);
    const int first = static_cast<int>(rng.below(20));
    for (PlanOp& op : ops) op.recompute = rng.below(3) == 0;
    const StageCost few = costs.stage(first, ops, 1, {.stages_behind = 1});
    const StageCost many = costs.stage(first, ops, 1, {.stages_behind = 2});
    EXPECT_GT(many.memory.total(), few.memory.total());
    EXPECT_EQ(many.time.traverse, few.time.traverse);
    ops[rng.below(20)].recompute = true;
    const StageCost again = costs.stage(first, ops, 1, {.stages_behind = 1});
    EXPECT_LE(again.memory.activations, few.memory.activations);
    EXPECT_GE(again.time.traverse, few.time.traverse);
  }
}

}  // namespace
}  // namespace weir::predict
