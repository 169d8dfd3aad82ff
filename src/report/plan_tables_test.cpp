// SPDX-License-Identifier: Apache-2.0
#include "report/plan_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/plan_json.h"
#include "report/plan_testing.h"

namespace weir::report {
namespace {

using predict::CostModel;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(PlanTables, NumbersHaveCommas) {
  EXPECT_EQ(with_commas(0, 1), "0.0");
  EXPECT_EQ(with_commas(999.94, 1), "999.9");
  EXPECT_EQ(with_commas(58492.59, 1), "58,492.6");
  EXPECT_EQ(with_commas(1234567, 0), "1,234,567");
  EXPECT_EQ(with_commas(-1234, 0), "-1,234");
  EXPECT_EQ(with_commas(-123, 0), "-123");
}

TEST(PlanTables, OperatorsAreNamedWithTheirLayer) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(1), CostModel::full, 3, 2, 8);
  EXPECT_EQ(op_words(plan.costs, 0), "encoder-embedding");
  EXPECT_EQ(op_words(plan.costs, 1), "layer 0 enc-1st-layernorm");
  EXPECT_EQ(op_words(plan.costs, 13), "layer 0 enc-post-MLP-dropout");
  EXPECT_EQ(op_words(plan.costs, 15), "layer 1 enc-attention-qkv");
  EXPECT_EQ(op_words(plan.costs, 41), "gpt-post-process");
}

TEST(PlanTables, SharesOfAStageMakeTheIteration) {
  for (const CostModel model : {CostModel::published, CostModel::full}) {
    const TestPlan plan = test_plan(predict::random_gpt_profile(2), model, 4, 4, 16);
    for (std::size_t i = 0; i < 4; ++i) {
      const StageShares shares = stage_shares(plan.view(), i);
      EXPECT_NEAR(shares.compute + shares.recompute + shares.links + shares.reshard + shares.end +
                      shares.waiting,
                  plan.cost.iteration_ms, 1e-9 * plan.cost.iteration_ms);
      EXPECT_GE(shares.links, -1e-9);
      EXPECT_GE(shares.waiting, -1e-9);
    }
  }
}

TEST(PlanTables, AStageIsOneRow) {
  TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 1, 2, 4);
  plan.document.plan.stages[1].ops[0].recompute = true;
  const Table table = stage_table(plan.view());
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0], ElementsAre("0", "0-7", "encoder-embedding", "enc-attention-dense",
                                         "1", "1 x 1", "-", "none"));
  EXPECT_EQ(table.rows[1].back(), "1 of 8");
}

TEST(PlanTables, MixedLayoutsAreCounted) {
  TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 1, 1, 4);
  PlanStage& stage = plan.document.plan.stages[0];
  stage.gpus = 2;
  for (std::size_t i = 0; i < stage.ops.size(); ++i)
    stage.ops[i] = i < 4 ? PlanOp{.tp = 1, .dp = 2} : PlanOp{.tp = 2, .dp = 1, .dim = 1};
  const Table table = stage_table(plan.view());
  EXPECT_EQ(table.rows[0][5], "2 x 1 (12 ops), 1 x 2 (4 ops)");
  EXPECT_EQ(table.rows[0][6], "1 (12 ops), 0 (4 ops)");
}

TEST(PlanTables, StagesOverTheLimitAreNamed) {
  TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 2, 2, 4);
  EXPECT_TRUE(memory_warnings(plan.view()).empty()) << "no limit is known";
  plan.document.memory_limit_mib = plan.cost.stages[1].memory.total() - 1;
  const auto warnings = memory_warnings(plan.view());
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings.back(), HasSubstr("stage 1 needs"));
  EXPECT_THAT(warnings.back(), HasSubstr("1 MiB more than the limit"));
  EXPECT_THAT(memory_bars(plan.view(), 10), HasSubstr("OVER THE LIMIT"));
}

TEST(PlanTables, TheHeadlineSaysWhatIsProved) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 2, 2, 4);
  PlanView view = plan.view();
  const double ms = plan.cost.iteration_ms;
  view.search = SearchFigures{ms, 0.1, 10, true, false};
  EXPECT_THAT(plan_headline(view), HasSubstr("No plan of the space searched is faster."));
  view.search->lower_bound_ms = ms / 1.05;
  EXPECT_THAT(plan_headline(view), HasSubstr("at most 5.00 % above the best possible"));
  view.search->lower_bound_ms = ms / 3;
  EXPECT_THAT(plan_headline(view), HasSubstr("that is all that is proved"));
}

TEST(PlanTables, AGainIsAtLeastWhatAShortSearchFound) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 2, 2, 4);
  PlanView view = plan.view();
  const double ms = plan.cost.iteration_ms;
  view.advice = {{"a", ms * 0.9, "", false},
                 {"b", ms * 0.9, "", true},
                 {"c", ms, "", false},
                 {"d", ms, "", true},
                 {"e", std::nullopt, "nobody measured it", false}};
  std::vector<std::string> gains;
  for (const auto& row : advice_table(view).rows) gains.push_back(row[2]);
  EXPECT_THAT(gains, ElementsAre("at least 10.0 % less time", "10.0 % less time",
                                 "none found in a short search", "none", "nobody measured it"));
}

TEST(PlanTables, APathIsToldStepByStep) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 2, 2, 4);
  PlanView view = plan.view();
  view.path = {{.from_ms = 2000,
                .to_ms = 1500,
                .fits_before = false,
                .stage = 1,
                .resource = plan::PlanResource::memory,
                .change = "3 operators from stage 1 to stage 0",
                .stage_from_ms = 1900,
                .stage_to_ms = 1400,
                .memory_from_mib = 900,
                .memory_to_mib = 700}};
  EXPECT_EQ(
      path_text(view),
      "The way to this plan\n"
      "     2,000.0 ms, does not fit in memory. Bottleneck: stage 1, by memory: 1,900.0 ms, 900 "
      "MiB.\n"
      "               -> 3 operators from stage 1 to stage 0. Stage 1 then: 1,400.0 ms, 700 MiB.\n"
      "     1,500.0 ms\n");
  EXPECT_EQ(path_table(view).rows[0][3], "3 operators from stage 1 to stage 0");
  EXPECT_EQ(plan_json(view)["path"][0]["bottleneck"], 1);
}

TEST(PlanTables, JsonHasTheKeysOfTheContract) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(2), CostModel::full, 2, 2, 4);
  PlanView view = plan.view();
  EXPECT_FALSE(plan_json(view).contains("lower_bound_ms")) << "nothing was searched";
  view.search = SearchFigures{1, 0.25, 10, true, false};
  const auto json = plan_json(view);
  for (const char* key : {"predicted_ms", "lower_bound_ms", "search_s", "max_memory_mib",
                          "microbatch", "stages", "evaluations", "complete", "samples_per_s"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"ops", "gpus", "tp", "dp", "dim", "recompute", "time_ms", "memory_mib"})
    EXPECT_TRUE(json["stages"][1].contains(key)) << key;
}

}  // namespace
}  // namespace weir::report
