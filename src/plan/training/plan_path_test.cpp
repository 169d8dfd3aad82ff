// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_path.h"

#include <gtest/gtest.h>

namespace weir::plan {
namespace {

TrainingPlan two_stages(int first, int second) {
  TrainingPlan plan{.batch = 8, .microbatch = 1, .stages = {}};
  for (const int ops : {first, second}) {
    plan.stages.push_back(
        {.gpus = 2,
         .ops = std::vector<PlanOp>(static_cast<std::size_t>(ops), PlanOp{.tp = 2, .dp = 1})});
  }
  return plan;
}

TEST(ChangeInWords, EqualPlansHaveNone) {
  EXPECT_EQ(change_in_words(two_stages(3, 4), two_stages(3, 4)), "");
}

TEST(ChangeInWords, OperatorsMove) {
  EXPECT_EQ(change_in_words(two_stages(3, 4), two_stages(4, 3)),
            "1 operator from stage 1 to stage 0");
  EXPECT_EQ(change_in_words(two_stages(6, 1), two_stages(3, 4)),
            "3 operators from stage 0 to stage 1");
}

TEST(ChangeInWords, StagesWithTheSameChangeAreToldTogether) {
  const TrainingPlan before = two_stages(3, 4);
  TrainingPlan after = before;
  after.microbatch = 2;
  for (PlanStage& stage : after.stages) {
    for (PlanOp& op : stage.ops) op = {.tp = 1, .dp = 2};
  }
  EXPECT_EQ(change_in_words(before, after),
            "microbatch 2 instead of 1; stages 0-1 with tp 1 x dp 2 instead of tp 2 x dp 1");
}

TEST(ChangeInWords, GpusMove) {
  const TrainingPlan before = two_stages(3, 4);
  TrainingPlan after = before;
  after.stages[0].gpus = 1;
  for (PlanOp& op : after.stages[0].ops) op = {.tp = 1, .dp = 1};
  EXPECT_EQ(change_in_words(before, after), "stage 0 on 1 GPU (tp 1 x dp 1) instead of 2");
}

TEST(ChangeInWords, RecomputationIsToldByStageWhereNothingElseChanges) {
  const TrainingPlan before = two_stages(3, 4);
  TrainingPlan after = before;
  after.stages[1].ops[0].recompute = after.stages[1].ops[1].recompute = true;
  EXPECT_EQ(change_in_words(before, after), "stage 1 computes 2 operators again instead of 0");
}

}  // namespace
}  // namespace weir::plan
