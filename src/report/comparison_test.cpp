// SPDX-License-Identifier: Apache-2.0
#include "report/comparison.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "report/comparison_report.h"
#include "report/outcomes_testing.h"
#include "report/report_data_testing.h"
#include "report/text_table.h"
#include "report/training_output.h"

namespace weir::report {
namespace {

using simulate::TrainingJobOutcome;
using simulate::TrainingSweepRun;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Came at 0, to be done after 1000 s.
TrainingJobOutcome a_job(std::optional<std::int64_t> finished, bool is_promised = true) {
  TrainingJobOutcome job;
  job.deadline = at(1000);
  job.has_deadline = true;
  job.is_promised = is_promised;
  if (finished) job.finished = at(*finished);
  return job;
}

ComparedRun a_compared_run(std::size_t trace, std::string policy, std::int64_t met,
                           std::optional<double> jct = std::nullopt,
                           std::optional<std::uint64_t> seed = std::nullopt) {
  ComparedRun run;
  run.trace = trace;
  run.summary.workload = trace == 0 ? "night" : "day";
  run.summary.cluster = "4x8xA100";
  run.summary.gpus = 32;
  run.summary.policy = std::move(policy);
  run.summary.jobs = 40;
  run.summary.with_deadline = 30;
  run.summary.met = met;
  run.summary.mean_jct_s = jct;
  run.summary.seed = seed;
  return run;
}

std::string other_in(const TraceVerdict& verdict) {
  return verdict.best_other ? verdict.best_other->front().summary.policy : "";
}

// --- What is kept of a run. ---

TEST(ComparedRun, KeepsTimesAndSharesBySize) {
  TrainingWorkload workload;
  TrainingSweepRun run;
  run.outcome.makes_promises = true;
  const auto add = [&](const TrainingJobOutcome& job, std::int32_t asked) {
    TrainingArrival arrival;
    arrival.spec.asked_gpus = asked;
    workload.jobs.push_back(arrival);
    run.outcome.by_job.push_back(job);
  };
  add(a_job(750), 1);
  add(a_job(1500), 3);          // promised and late
  add(a_job(500, false), 4);    // in time by luck
  add(a_job(std::nullopt), 4);  // never done
  TrainingJobOutcome best_effort;
  best_effort.finished = at(7200);
  add(best_effort, 64);
  const ComparedRun kept = compared_run(3, run, workload, Detail::with_plots);
  EXPECT_EQ(kept.trace, 3U);
  EXPECT_THAT(kept.completion_hours, ElementsAre(500 / 3600.0, 750 / 3600.0, 1500 / 3600.0, 2));
  EXPECT_THAT(kept.slack_percent, ElementsAre(-50, 25, 50));
  EXPECT_THAT(kept.by_asked_gpus,
              ElementsAre(std::pair{1, MetShare{1, 1}}, std::pair{4, MetShare{3, 0}}));
  run.outcome.makes_promises = false;
  EXPECT_EQ(compared_run(0, run, workload, Detail::with_plots).by_asked_gpus.at(4),
            (MetShare{3, 1}));
  const ComparedRun figures = compared_run(0, run, workload, Detail::figures_only);
  EXPECT_TRUE(figures.completion_hours.empty());
  EXPECT_TRUE(figures.by_asked_gpus.empty());
}

// --- Who is the best other. ---

TEST(TraceVerdicts, TheBestOtherHasMostMetThenTheLowerJctThenComesFirst) {
  const std::vector met = {a_compared_run(0, "weir", 29, 50), a_compared_run(0, "edf", 20, 1),
                           a_compared_run(0, "srtf", 21, 9)};
  EXPECT_EQ(other_in(trace_verdicts(met).front()), "srtf");
  const std::vector jct = {a_compared_run(0, "edf", 20, 9), a_compared_run(0, "srtf", 20, 8),
                           a_compared_run(0, "weir", 1, 50)};
  EXPECT_EQ(other_in(trace_verdicts(jct).front()), "srtf");
  const std::vector same = {a_compared_run(0, "edf", 20, 9), a_compared_run(0, "srtf", 20, 9)};
  EXPECT_EQ(other_in(trace_verdicts(same).front()), "edf");
  const std::vector none_done = {a_compared_run(0, "edf", 0), a_compared_run(0, "srtf", 0, 9)};
  EXPECT_EQ(other_in(trace_verdicts(none_done).front()), "srtf");
}

TEST(TraceVerdicts, TheFastestMayBeWeirOrNobody) {
  const std::vector runs = {a_compared_run(0, "weir", 29, 5), a_compared_run(0, "edf", 20, 6),
                            a_compared_run(1, "edf", 0)};
  const auto verdicts = trace_verdicts(runs);
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_EQ(verdicts[0].fastest->front().summary.policy, "weir");
  EXPECT_FALSE(verdicts[1].fastest);
  EXPECT_FALSE(verdicts[1].weir);
  EXPECT_EQ(verdicts[1].name, "day");
}

// A mean over two seeds, not the best of them.
TEST(TraceVerdicts, SeedsCountTogether) {
  const std::vector runs = {a_compared_run(0, "edf", 30, 1, 1), a_compared_run(0, "edf", 10, 1, 2),
                            a_compared_run(0, "srtf", 21, 1, 1),
                            a_compared_run(0, "srtf", 21, 1, 2)};
  EXPECT_EQ(other_in(trace_verdicts(runs).front()), "srtf");
}

RC_GTEST_PROP(TraceVerdicts, NoOtherPolicyMeetsMoreThanTheBestOtherAndNoneIsFasterThanTheFastest,
              ()) {
  const auto count = *rc::gen::inRange(1, 6);
  std::vector<ComparedRun> runs;
  for (int i = 0; i < count; ++i) {
    const auto jct = *rc::gen::inRange(0, 4);
    runs.push_back(a_compared_run(0, i == 2 ? "weir" : "p" + std::to_string(i),
                                  *rc::gen::inRange(0, 4),
                                  jct == 0 ? std::nullopt : std::optional<double>{jct}));
  }
  const auto verdicts = trace_verdicts(runs);
  RC_ASSERT(verdicts.size() == 1U);
  for (const ComparedRun& run : runs) {
    if (run.summary.policy != "weir")
      RC_ASSERT(run.summary.met <= *mean_met(*verdicts[0].best_other));
    if (run.summary.mean_jct_s)
      RC_ASSERT(*run.summary.mean_jct_s >= *mean_jct(*verdicts[0].fastest));
  }
}

// --- Tables. ---

TEST(ComparisonTable, HasARowForEachTraceAndPolicy) {
  std::vector runs = {a_compared_run(0, "weir", 29, 100), a_compared_run(0, "edf", 20),
                      a_compared_run(1, "weir", 7, 3)};
  runs[0].summary.admitted = 29;
  runs[0].summary.missed_after_admission = 0;
  const Table table = comparison_table(runs);
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_THAT(table.rows[0], ElementsAre("night", "32", "weir", "40", "29", "96.7", "29", "0",
                                         "100", "-", "0", "-"));
  EXPECT_THAT(table.rows[1],
              ElementsAre("night", "32", "edf", "40", "20", "66.7", "-", "-", "-", "-", "0", "-"));
  EXPECT_EQ(table.rows[2][0], "day");
  EXPECT_THAT(to_text(table), Not(HasSubstr("seconds")));
  runs[1].summary.seconds = 0.25;
  EXPECT_EQ(comparison_table(runs).rows[1].back(), "0.250");
}

TEST(ComparisonTable, SeedsAreOneRowWithTheirSpread) {
  const std::vector runs = {
      a_compared_run(0, "edf", 20, 10, 1), a_compared_run(0, "edf", 22, 14, 2),
      a_compared_run(0, "fifo", 5, 10, 1), a_compared_run(0, "fifo", 5, 10, 2)};
  const Table table = comparison_table(runs);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][4], "21.0 ± 1.4");
  EXPECT_EQ(table.rows[0][8], "12 ± 3");
  EXPECT_EQ(table.rows[1][2], "fifo");
}

TEST(RivalryTable, SetsWeirBesideTheBestOther) {
  const std::vector runs = {a_compared_run(0, "weir", 29, 100), a_compared_run(0, "edf", 20, 90),
                            a_compared_run(0, "fifo", 3, 80),   a_compared_run(1, "weir", 7, 3),
                            a_compared_run(1, "edf", 9, 4),     a_compared_run(1, "fifo", 9, 5)};
  const auto table = rivalry_table(runs);
  ASSERT_TRUE(table);
  EXPECT_THAT(table->rows[0],
              ElementsAre("night", "32", "30", "29", "edf", "20", "+9", "fifo", "80", "100"));
  EXPECT_THAT(table->rows[1],
              ElementsAre("day", "32", "30", "7", "edf", "9", "-2", "weir", "3", "3"));
}

TEST(RivalryTable, NeedsWeirAndAnother) {
  EXPECT_FALSE(
      rivalry_table(std::vector{a_compared_run(0, "weir", 1), a_compared_run(1, "weir", 1)}));
  EXPECT_FALSE(
      rivalry_table(std::vector{a_compared_run(0, "edf", 1), a_compared_run(0, "fifo", 1)}));
  EXPECT_FALSE(rivalry_table({}));
}

// --- JSON and CSV. ---

TEST(ComparisonJson, IsOneEnvelopeWithItsRecipe) {
  std::vector<TrainingSummary> summaries = {a_compared_run(0, "weir", 29, 5, 7).summary,
                                            a_compared_run(0, "edf", 20).summary};
  const auto text = comparison_json("0.1", "weir simulate --compare \"x\"", summaries);
  ASSERT_TRUE(text.has_value());
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json.at("version"), "0.1");
  EXPECT_EQ(json.at("recipe"), "weir simulate --compare \"x\"");
  ASSERT_EQ(json.at("runs").size(), 2U);
  EXPECT_EQ(json["runs"][0].at("cluster"), "4x8xA100");
  EXPECT_EQ(json["runs"][0].at("seed"), 7);
  EXPECT_FALSE(json["runs"][1].contains("seed"));
  EXPECT_EQ(json.size(), 3U);
}

TEST(ComparisonCsv, HasTheClusterOfEachRun) {
  const std::vector<TrainingSummary> summaries = {a_compared_run(0, "weir", 29, 5, 7).summary};
  const std::string csv = training_csv(summaries);
  EXPECT_THAT(csv, HasSubstr(",decisions,cluster,seed\n"));
  EXPECT_THAT(csv, HasSubstr(",4x8xA100,7\n"));
}

// --- The page. ---

ComparedRun with_plots(ComparedRun run) {
  run.completion_hours = {0.5, 2};
  run.slack_percent = {-300, 40};
  run.by_asked_gpus = {{1, {20, 15}}, {8, {10, 0}}};
  return run;
}

TEST(ComparisonReport, IsOnePageWithTheResultOnTop) {
  const std::vector runs = {
      with_plots(a_compared_run(0, "weir", 29, 1)), with_plots(a_compared_run(0, "edf", 20, 2)),
      with_plots(a_compared_run(1, "weir", 9, 1)), with_plots(a_compared_run(1, "edf", 9, 2))};
  const std::string page = comparison_report({"weir simulate --compare <x>", "0", {}}, runs, {});
  EXPECT_THAT(page, HasSubstr("weir meets more deadlines on 1 of 2 traces, as many on 1 and fewer "
                              "on 0."));
  EXPECT_THAT(page, HasSubstr("--compare &lt;x&gt;"));
  EXPECT_THAT(page, HasSubstr("night on 4x8xA100: 40 jobs, 30 with a deadline, on 32 GPUs"));
  EXPECT_THAT(page, HasSubstr("How long jobs took: day on 4x8xA100"));
  EXPECT_THAT(page, HasSubstr("Time to spare: night on 4x8xA100"));
  EXPECT_THAT(page, HasSubstr("Plots of day on 4x8xA100"));
  EXPECT_THAT(page, HasSubstr("8 (10 jobs)"));
  EXPECT_THAT(page, HasSubstr("weir, 1 GPU: 75.0"));
  for (const char* outside : {"<script", "href=", "src=", "@import", "url("})
    EXPECT_THAT(without_data(page), Not(HasSubstr(outside)));
  EXPECT_EQ(nlohmann::json::parse(data_of(page)).at("runs").size(), 4U);
}

TEST(ComparisonReport, WithoutWeirOrWithoutRunsThereIsNoVerdict) {
  const std::vector runs = {with_plots(a_compared_run(0, "edf", 20, 2))};
  const std::string page = comparison_report({"", "", {}}, runs, {});
  EXPECT_THAT(page, Not(HasSubstr("beside the best")));
  EXPECT_THAT(page, HasSubstr("How long jobs took: night"));
  EXPECT_THAT(comparison_report({"", "", {}}, {}, {}), HasSubstr("</html>"));
}

// A thousand jobs are a curve of 200 points with some 16 marks.
TEST(ComparisonReport, StaysSmall) {
  ComparedRun run = with_plots(a_compared_run(0, "weir", 29, 1));
  run.summary.jobs = run.summary.with_deadline = 10000;
  for (int i = 0; i < 10000; ++i) {
    run.completion_hours.push_back(2 + i);
    run.slack_percent.push_back(40 + i * 0.001);
  }
  const std::string page = comparison_report({"", "", {}}, std::vector{run}, {});
  EXPECT_LT(page.size(), 30'000U);
}

}  // namespace
}  // namespace weir::report
