// SPDX-License-Identifier: Apache-2.0
#include "report/pipeline_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "report/plan_report.h"
#include "report/plan_testing.h"

namespace weir::report {
namespace {

using predict::CostModel;
using testing::HasSubstr;
using testing::Not;

// When each pass begins and ends, by stage and microbatch.
using Passes = std::map<std::pair<int, int>, PipelineSpan>;
Passes passes_of(const PipelineTimeline& timeline, PipelineWork work) {
  Passes passes;
  for (const PipelineSpan& span : timeline.spans)
    if (span.work == work) passes[{span.stage, span.microbatch}] = span;
  return passes;
}

TEST(PipelineTimeline, EqualStagesWithoutTransfersTakeOnePassMoreForEachStageBehind) {
  // 16 operators of 10 us forward and 20 us backward in 4 stages: 4 x 30 us for each microbatch and stage.
  OpMeasure op;
  op.forward_us = 10;
  op.backward_us = 20;
  const TestPlan plan =
      test_plan(predict::plain_profile("gpt", predict::gpt_op_names(), op, {1, 2, 4}, 4),
                CostModel::published, 1, 4, 8);
  const PipelineTimeline timeline = pipeline_timeline(plan.view());
  EXPECT_NEAR(timeline.total_ms, (8 + 4 - 1) * 0.120, 1e-9);
  EXPECT_NEAR(plan.cost.iteration_ms, timeline.total_ms, 1e-9);
}

TEST(PipelineTimeline, EveryPassWaitsForItsData) {
  for (const CostModel model : {CostModel::published, CostModel::full}) {
    const TestPlan plan = test_plan(predict::random_gpt_profile(4), model, 5, 4, 12);
    const PipelineTimeline timeline = pipeline_timeline(plan.view());
    const Passes forward = passes_of(timeline, PipelineWork::forward);
    const Passes backward = passes_of(timeline, PipelineWork::backward);
    ASSERT_EQ(forward.size(), 4U * 12U);
    ASSERT_EQ(backward.size(), 4U * 12U);
    for (const auto& [at, span] : forward) {
      const auto [stage, microbatch] = at;
      if (stage > 0) {
        EXPECT_GE(span.from_ms, forward.at({stage - 1, microbatch}).to_ms);
      }
      EXPECT_GE(backward.at(at).from_ms, span.to_ms);
    }
    for (const auto& [at, span] : backward) {
      const auto [stage, microbatch] = at;
      if (stage < 3) {
        EXPECT_GE(span.from_ms, backward.at({stage + 1, microbatch}).to_ms);
      }
    }
  }
}

TEST(PipelineTimeline, AStageDoesOneThingAtATime) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(4), CostModel::published, 5, 4, 12);
  const PipelineTimeline timeline = pipeline_timeline(plan.view());
  for (std::size_t i = 1; i < timeline.spans.size(); ++i) {
    const PipelineSpan& before = timeline.spans[i - 1];
    const PipelineSpan& here = timeline.spans[i];
    if (before.stage == here.stage) {
      EXPECT_GE(here.from_ms, before.to_ms - 1e-9);
    }
  }
}

TEST(PipelineTimeline, AStageHoldsOneMicrobatchMoreThanThereAreStagesBehind) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(4), CostModel::full, 5, 4, 12);
  const PipelineTimeline timeline = pipeline_timeline(plan.view());
  for (int stage = 0; stage < 4; ++stage) {
    std::vector<std::pair<double, int>> changes;
    for (const PipelineSpan& span : timeline.spans) {
      if (span.stage != stage) continue;
      if (span.work == PipelineWork::forward) changes.emplace_back(span.from_ms, 1);
      if (span.work == PipelineWork::backward) changes.emplace_back(span.to_ms, -1);
    }
    std::ranges::sort(changes);
    int held = 0;
    int most = 0;
    for (const auto& change : changes) most = std::max(most, held += change.second);
    EXPECT_EQ(most, 4 - stage);
    EXPECT_EQ(held, 0);
  }
}

TEST(PipelineTimeline, ShowsTheStartAndTheEndOfALongIteration) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(4), CostModel::full, 5, 4, 500);
  const PipelineTimeline whole = pipeline_timeline(plan.view());
  EXPECT_EQ(whole.shown_at_each_end, 10);
  const PipelineTimeline short_one = pipeline_timeline(plan.view(), 100);
  EXPECT_LE(short_one.spans.size(), 100U + 4U);
  EXPECT_EQ(short_one.total_ms, whole.total_ms);
}

TEST(PipelineTimeline, ATraceNamesEveryStageAndHasItsSpans) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(4), CostModel::full, 2, 2, 4);
  const PipelineTimeline timeline = pipeline_timeline(plan.view());
  const auto trace = nlohmann::json::parse(chrome_trace(timeline));
  std::size_t spans = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") {
      ++spans;
      EXPECT_GE(event["dur"], 0);
    }
  }
  EXPECT_EQ(spans, timeline.spans.size());
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "stage 0");
}

TEST(PipelineTimeline, ThePageIsSelfContainedAndTheSameEveryTime) {
  const TestPlan plan = test_plan(predict::random_gpt_profile(4), CostModel::full, 2, 2, 40);
  PlanView view = plan.view();
  view.search = SearchFigures{plan.cost.iteration_ms, 1.5, 10, true, false};
  view.advice = {{"more <memory>", plan.cost.iteration_ms / 2, "", true}};
  const ReportHeader header{"weir plan", "0", {}};
  const std::string page = plan_report(header, view);
  EXPECT_THAT(page, HasSubstr("more &lt;memory&gt;"));
  EXPECT_THAT(page, HasSubstr("Time line"));
  EXPECT_THAT(page, Not(HasSubstr("://")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("<script src")));
  view.search->seconds = 2.5;
  EXPECT_EQ(plan_report(header, view), page);
}

}  // namespace
}  // namespace weir::report
