// SPDX-License-Identifier: Apache-2.0
#include "report/training_summary.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/outcomes_testing.h"
#include "report/report_data_testing.h"
#include "report/text_table.h"
#include "report/training_output.h"
#include "report/training_report.h"

namespace weir::report {
namespace {

using simulate::TrainingJobOutcome;
using simulate::TrainingSweepRun;
using ::testing::HasSubstr;
using ::testing::Not;

TrainingJobOutcome a_job(std::int64_t submitted, std::int64_t started, std::int64_t finished) {
  TrainingJobOutcome job;
  job.submitted = at(submitted);
  job.deadline = at(submitted + 1000);
  job.has_deadline = true;
  job.is_promised = true;
  job.started = at(started);
  job.finished = at(finished);
  return job;
}

// Two jobs that ran, on time, and a refused one.
TrainingSweepRun a_training_run(std::string policy, bool makes_promises) {
  TrainingSweepRun run;
  run.workload = "night";
  run.jobs_file = "night.yaml";
  run.gpus = 4;
  run.outcome.policy = std::move(policy);
  run.outcome.makes_promises = makes_promises;
  run.outcome.jobs = 3;
  run.outcome.with_deadline = 3;
  run.outcome.met = 2;
  run.outcome.admitted = 2;
  run.outcome.finished = 2;
  run.outcome.rescales = 5;
  run.outcome.makespan = from_seconds(500);
  run.outcome.gpu_seconds = 1000;
  run.outcome.wall_seconds = 0.25;
  TrainingJobOutcome refused;
  refused.has_deadline = true;
  refused.is_refused = true;
  refused.deadline = at(50);
  run.outcome.by_job = {a_job(0, 10, 100), a_job(100, 100, 400), refused};
  return run;
}

TEST(TrainingSummary, CountsFromTheJobs) {
  const std::vector runs = {a_training_run("weir", true)};
  const TrainingSummary summary = summarise(runs).front();
  EXPECT_EQ(summary.refused, 1);
  EXPECT_DOUBLE_EQ(*summary.mean_jct_s, 200);     // 100 and 300
  EXPECT_DOUBLE_EQ(*summary.mean_queueing_s, 5);  // 10 and 0
  EXPECT_DOUBLE_EQ(*summary.p50_jct_s, 100);
  EXPECT_DOUBLE_EQ(*summary.p99_jct_s, 300);
  EXPECT_DOUBLE_EQ(*summary.utilisation_percent, 50);  // 1000 of 4 x 500
  EXPECT_NEAR(*summary.met_percent(), 66.67, 0.01);
  EXPECT_FALSE(summary.seconds) << "not asked for";
}

// A group of one, which has a third of the GPU-time for three quarters of the weight.
TrainingSweepRun a_shared_run() {
  TrainingSweepRun run = a_training_run("weir", true);
  run.outcome.by_tenant = {{"research", kNoParent, 0.75, 2, 1, 3600, 1, 30},
                           {"vision", 0, 0.75, 2, 1, 3600, 1, 30},
                           {"default", kNoParent, 0.25, 1, 1, 7200, 0, 0}};
  return run;
}

TEST(TrainingSummary, TellsWhatEachTenantGot) {
  const std::vector runs = {a_shared_run()};
  const auto summaries = summarise(runs);
  const std::vector<Table> tables = tenant_tables(summaries);
  ASSERT_EQ(tables.size(), 1U);
  const std::string text = to_text(tables.front());
  EXPECT_THAT(text, HasSubstr("night: tenants under weir\n"));
  for (const char* row :
       {"research     2         1        1.0     33.3         75.0      -41.7           30\n",
        "  vision     2         1        1.0     33.3         75.0      -41.7           30\n",
        "default      1         1        2.0     66.7         25.0      +41.7            -\n"})
    EXPECT_THAT(text, HasSubstr(row));
  const auto json = nlohmann::json::parse(*training_json(summaries))["runs"][0]["tenants"];
  EXPECT_EQ(json.size(), 3U);
  EXPECT_EQ(json[1]["parent"], "research");
  EXPECT_DOUBLE_EQ(json[2]["share_percent"], 66.6667);
  EXPECT_TRUE(json[2]["mean_wait_s"].is_null());
  EXPECT_THAT(training_report({"recipe", "0", {}}, runs, std::nullopt), HasSubstr("vision"));
  EXPECT_THAT(training_csv(summaries), Not(HasSubstr("tenants")));
}

TEST(TrainingSummary, WithoutTenantsNothingIsToldOfThem) {
  const std::vector runs = {a_training_run("weir", true)};
  const auto summaries = summarise(runs);
  EXPECT_TRUE(tenant_tables(summaries).empty());
  EXPECT_FALSE(nlohmann::json::parse(*training_json(summaries))["runs"][0].contains("tenants"));
}

TEST(TrainingSummary, ARunInWhichNothingRanHasNoMeans) {
  TrainingSweepRun run;
  const TrainingSummary summary = summarise(std::span{&run, 1}).front();
  EXPECT_FALSE(summary.mean_jct_s);
  EXPECT_FALSE(summary.utilisation_percent);
  EXPECT_FALSE(summary.met_percent());
}

TEST(TrainingSummary, APercentileIsOneOfTheValues) {
  const std::vector<double> values = {1, 2, 3, 4};
  EXPECT_EQ(percentile(values, 1), 1);
  EXPECT_EQ(percentile(values, 50), 2);
  EXPECT_EQ(percentile(values, 75), 3);
  EXPECT_EQ(percentile(values, 100), 4);
}

TEST(TrainingTables, AreOneForEachTraceAndShowSecondsOnlyWhenMeasured) {
  std::vector runs = {a_training_run("weir", true), a_training_run("edf", false),
                      a_training_run("weir", true)};
  runs[2].workload = "day";
  const auto tables = training_tables(summarise(runs));
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0].rows.size(), 2U);
  const std::string text = to_text(tables[0]);
  EXPECT_THAT(text, HasSubstr("night: 3 jobs, 3 with a deadline, on 4 GPUs"));
  EXPECT_THAT(text, Not(HasSubstr("seconds")));
  runs[0].has_timing = true;
  EXPECT_THAT(to_text(training_tables(summarise(runs))[0]), HasSubstr("0.250"));
}

TEST(TrainingJson, HasTheKeysOfTheContract) {
  std::vector runs = {a_training_run("weir", true), a_training_run("edf", false)};
  runs[0].has_timing = true;
  const auto text = training_json(summarise(runs));
  ASSERT_TRUE(text.has_value());
  const auto json = nlohmann::json::parse(*text);
  const auto& weir = json.at("runs").at(0);
  EXPECT_EQ(weir.at("policy"), "weir");
  EXPECT_EQ(weir.at("jobs"), 3);
  EXPECT_EQ(weir.at("met"), 2);
  EXPECT_EQ(weir.at("met_without_promise"), 0);
  EXPECT_EQ(weir.at("admitted"), 2);
  EXPECT_EQ(weir.at("missed_after_admission"), 0);
  EXPECT_EQ(weir.at("mean_jct_s"), 200);
  EXPECT_EQ(weir.at("rescales"), 5);
  EXPECT_EQ(weir.at("timing").at("seconds"), 0.25);
  const auto& edf = json["runs"][1];
  EXPECT_TRUE(edf.at("admitted").is_null());
  EXPECT_TRUE(edf.at("missed_after_admission").is_null());
  EXPECT_FALSE(edf.contains("timing"));
}

TEST(TrainingCsv, HasARowForEachRunAndEmptyCellsForWhatThereIsNot) {
  const std::vector runs = {a_training_run("weir", true), a_training_run("edf", false)};
  const std::string csv = training_csv(summarise(runs));
  EXPECT_THAT(csv, HasSubstr("policy,workload,jobs_file,gpus,jobs,with_deadline,met,"));
  EXPECT_THAT(csv, HasSubstr("\nweir,night,night.yaml,4,3,3,2,0,2,0,0,0,,0,1,2,0,200.0,"));
  EXPECT_THAT(csv, HasSubstr("\nedf,night,night.yaml,4,3,3,2,0,,,0,0,,0,1,2,0,200.0,"));
}

TEST(TrainingReport, IsOnePageWithTheResultOnTop) {
  const std::vector runs = {a_training_run("weir", true), a_training_run("edf", false)};
  const std::string page =
      training_report({"weir simulate --jobs <x>", "0", {}}, runs, std::nullopt);
  EXPECT_THAT(
      page,
      HasSubstr("2 of 3 jobs with a deadline meet it under weir. It promised 2 and missed none."));
  EXPECT_THAT(page, HasSubstr("--jobs &lt;x&gt;"));
  EXPECT_THAT(page, HasSubstr("Deadlines met"));
  EXPECT_THAT(page, HasSubstr("Time to spare: night"));
  EXPECT_THAT(without_data(page), Not(HasSubstr("<script")));
  const auto data = nlohmann::ordered_json::parse(data_of(page));
  EXPECT_EQ(data.at("runs"),
            nlohmann::ordered_json::parse(*training_json(summarise(runs))).at("runs"));
  EXPECT_EQ(data.at("recipe"), "weir simulate --jobs <x>");
  EXPECT_EQ(training_report({"", "", {}}, {}, std::nullopt).substr(0, 15), "<!DOCTYPE html>");
}

}  // namespace
}  // namespace weir::report
