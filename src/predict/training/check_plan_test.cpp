// SPDX-License-Identifier: Apache-2.0
#include "predict/training/check_plan.h"

#include <gtest/gtest.h>

#include "predict/training/iteration_costs.h"
#include "predict/training/profile_testing.h"

namespace weir::predict {
namespace {

// 16 operators on two nodes of two GPUs.
IterationCosts costs_of_a_gpt() {
  return test_costs(plain_profile("gpt", gpt_op_names(), {}, {1, 2}), 1, {2, 2, 1000},
                    CostModel::full);
}

TrainingPlan good_plan() {
  TrainingPlan plan{.batch = 8, .microbatch = 2, .stages = {}};
  plan.stages.push_back({2, std::vector<PlanOp>(10, {.tp = 2})});
  plan.stages.push_back({2, std::vector<PlanOp>(6, {.tp = 1, .dp = 2})});
  return plan;
}

std::string mistakes_of(const TrainingPlan& plan, PlanRules rules = {}) {
  const IterationCosts costs = costs_of_a_gpt();
  EXPECT_EQ(costs.plan(plan).has_value(), check_plan(plan, costs).empty());
  return to_string(check_plan(plan, costs, rules));
}

TEST(CheckPlan, AGoodPlanHasNoMistakes) {
  EXPECT_EQ(mistakes_of(good_plan()), "");
}

TEST(CheckPlan, EveryOperatorBelongsToAStage) {
  TrainingPlan plan = good_plan();
  plan.stages[1].ops.pop_back();
  EXPECT_EQ(mistakes_of(plan),
            "stages is \"15 operators\", expected the 16 operators of the model\n");
}

TEST(CheckPlan, NoStageIsEmpty) {
  TrainingPlan plan = good_plan();
  plan.stages[0].ops.insert(plan.stages[0].ops.end(), 6, {.tp = 2});
  plan.stages[1].ops.clear();
  EXPECT_EQ(mistakes_of(plan), "stages[1].ops is \"none\", expected one operator or more\n");
}

TEST(CheckPlan, EveryGpuIsUsed) {
  TrainingPlan plan = good_plan();
  plan.stages[1].gpus = 1;
  plan.stages[1].ops.assign(6, {});
  EXPECT_EQ(mistakes_of(plan), "stages is \"3 GPUs\", expected 4 GPUs\n");
}

TEST(CheckPlan, ThereIsAPlanAtAll) {
  EXPECT_EQ(mistakes_of({.batch = 8, .microbatch = 2, .stages = {}}),
            "stages is \"0 operators\", expected the 16 operators of the model\n"
            "stages is \"0 GPUs\", expected 4 GPUs\n");
}

TEST(CheckPlan, DegreesMultiplyToTheGpusOfTheStage) {
  TrainingPlan plan = good_plan();
  plan.stages[0].ops[3].dp = 2;
  EXPECT_EQ(mistakes_of(plan),
            "stages[0].ops[3] is \"tp 2 and dp 2\", expected powers of two whose product is the "
            "stage's GPUs, 2\n");
}

TEST(CheckPlan, DegreesAndGpusArePowersOfTwo) {
  TrainingPlan plan = good_plan();
  plan.stages = {{1, std::vector<PlanOp>(10)}, {3, std::vector<PlanOp>(6, {.tp = 3})}};
  EXPECT_EQ(mistakes_of(plan, {.stages_may_straddle_nodes = true}),
            "stages[1].gpus is \"3\", expected a power of two\n"
            "stages[1].ops[0] is \"tp 3 and dp 1\", expected powers of two whose product is the "
            "stage's GPUs, 3\n");
}

TEST(CheckPlan, AStageLiesOnOneNodeUnlessItMayStraddle) {
  TrainingPlan plan = good_plan();
  plan.stages = {{1, std::vector<PlanOp>(5)},
                 {2, std::vector<PlanOp>(5, {.tp = 2})},
                 {1, std::vector<PlanOp>(6)}};
  EXPECT_EQ(mistakes_of(plan),
            "stages[1].gpus is \"GPUs 1 to 2\", expected GPUs of one node, which has 2\n");
  EXPECT_EQ(mistakes_of(plan, {.stages_may_straddle_nodes = true}), "");
}

TEST(CheckPlan, TensorParallelismStaysInsideANode) {
  TrainingPlan plan = good_plan();
  plan.stages = {{4, std::vector<PlanOp>(16, {.tp = 4})}};
  EXPECT_EQ(mistakes_of(plan, {.stages_may_straddle_nodes = true}),
            "stages[0].ops[0].tp is \"4\", expected at most the GPUs of a node, 2\n");
}

TEST(CheckPlan, TheBatchIsAMultipleOfTheMicrobatch) {
  TrainingPlan plan = good_plan();
  plan.batch = 7;
  EXPECT_EQ(mistakes_of(plan), "batch is \"7\", expected a multiple of the microbatch, 2\n");
  plan.batch = 0;
  EXPECT_EQ(mistakes_of(plan), "batch is \"0\", expected a multiple of the microbatch, 2\n");
  plan.microbatch = 0;
  EXPECT_EQ(mistakes_of(plan), "microbatch is \"0\", expected 1 or more\n");
}

TEST(CheckPlan, EveryReplicaHasAWholePartOfTheMicrobatch) {
  TrainingPlan plan = good_plan();
  plan.microbatch = 1;
  EXPECT_EQ(mistakes_of(plan),
            "stages[1].ops[0].dp is \"2\", expected a divisor of the microbatch, 1\n");
}

TEST(CheckPlan, ADimensionIsOneOfTwo) {
  TrainingPlan plan = good_plan();
  plan.stages[0].ops[9].dim = 2;
  EXPECT_EQ(mistakes_of(plan), "stages[0].ops[9].dim is \"2\", expected 0 or 1\n");
}

TEST(CheckPlan, WhatNobodyMeasuredIsNamedOnceForARunOfEqualOperators) {
  TrainingPlan plan = good_plan();
  plan.batch = 8;
  plan.microbatch = 8;  // 8 samples at tp 2, 4 at dp 2
  EXPECT_EQ(
      mistakes_of(plan),
      "stages[0].ops[0] is \"microbatch 8 at tp 2, dim 0\", expected a combination the profile "
      "plain gpt small has measured\n"
      "stages[1].ops[0] is \"microbatch 4 at tp 1, dim 0\", expected a combination the profile "
      "plain gpt small has measured\n");
}

}  // namespace
}  // namespace weir::predict
