// SPDX-License-Identifier: Apache-2.0
#include "cli/client_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/client_server_testing.h"
#include "cli/run_testing.h"
#include "report/text_table.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// 400 ms a step on one GPU, 250 on two (50 of them to synchronise), 250 on four.
ApiJson a_job() {
  return {{"id", 7},
          {"name", "bert"},
          {"gpus", 2},
          {"iterations", 10'000},
          {"done", 1'000},
          {"curve", {{"origin", "measured"}, {"rates", {{"1", 2.5}, {"2", 4.0}, {"4", 4.0}}}}},
          {"batch", {{"global", 256}, {"local", 32}, {"passes", 4}}}};
}

std::string problem_with(const ApiJson& job) {
  const auto advice = advice_for(job, {});
  return advice ? "" : to_string(advice.error().details);
}

TEST(ClientAdvice, TellsTimeAndCostOfEachNumberOfGpus) {
  AdviceRequest request;
  request.price = worker::Price{2'000'000};
  const auto advice = advice_for(a_job(), request);
  ASSERT_TRUE(advice) << to_string(advice.error().details);
  // 9000 steps of 0.4 s on one GPU are an hour, and 2 at 2 an hour; of 0.25 s on two 37.5 minutes,
  // 1.25 GPU-hours and 2.50.
  EXPECT_EQ(report::to_text(advice_table(*advice)),
            "9000 iterations left, 256 samples each\n"
            "GPUs  passes  micro-batch  s per step  to finish  GPU-hours  cost  worth it\n"
            "----  ------  -----------  ----------  ---------  ---------  ----  --------  ---\n"
            "   1       8           32         0.4         1h      1.000  2.00  yes\n"
            "   2       4           32        0.25     37m30s      1.250  2.50  yes       now\n"
            "   4       2           32        0.25     37m30s      2.500  5.00\n");
  EXPECT_THAT(advice_sentences(*advice),
              HasSubstr("Fastest: 2 GPUs. Cheapest: 1 GPU, 1.60 times as long for 0.80 of the "
                        "cost.\nAll was measured with one micro-batch"));
}

TEST(ClientAdvice, CountsGpuHoursWithoutAPrice) {
  const auto advice = advice_for(a_job(), {});
  ASSERT_TRUE(advice);
  EXPECT_THAT(report::to_text(advice_table(*advice)), Not(HasSubstr("cost")));
  EXPECT_THAT(advice_sentences(*advice), HasSubstr("0.80 of the GPU-hours"));
  const ApiJson json = advice_json(*advice);
  EXPECT_EQ(json["choices"][0]["gpu_hours"], 1.0);
  EXPECT_EQ(json["choices"][0]["seconds_left"], 3600.0);
  EXPECT_EQ(json["choices"][2]["worth_it"], false);
  EXPECT_FALSE(json["choices"][0].contains("cost"));
}

TEST(ClientAdvice, WhatTheJobMakesNowCountsMoreThanItsCurve) {
  ApiJson job = a_job();
  job["rate"] = 5.0;
  EXPECT_EQ(advice_json(*advice_for(job, {}))["choices"][1]["seconds_per_step"], 0.2);
}

TEST(ClientAdvice, SaysHowGoodItIs) {
  ApiJson job = a_job();
  job["curve"] = {{"origin", "stated"}, {"rates", {{"2", 4.0}, {"4", 7.0}}}};
  const auto advice = advice_for(job, {});
  ASSERT_TRUE(advice);
  EXPECT_THAT(advice->notes,
              ElementsAre(HasSubstr("Its throughput is stated, not measured"),
                          HasSubstr("One GPU was not measured"), HasSubstr("one micro-batch")));
}

TEST(ClientAdvice, SaysWhatIsMissingAndHowToGetIt) {
  ApiJson job = a_job();
  job.erase("batch");
  EXPECT_EQ(problem_with(job),
            "the batch of bert is missing, expected a script that tells it "
            "(weir_worker.batch_plan does), or --batch and --micro-batch\n");
  EXPECT_TRUE(advice_for(job, {.global_batch = 256, .micro_batch = 32}));
  job["curve"]["rates"] = {{"1", 2.5}};
  job["gpus"] = 1;
  job["rate"] = 2.4;
  EXPECT_THAT(problem_with(job), HasSubstr("the throughput on two sizes or more of bert is "
                                           "missing, expected a job that ran on two sizes"));
  job.erase("curve");
  EXPECT_THAT(problem_with(job), HasSubstr("the throughput on two sizes or more"));
  job.erase("iterations");
  EXPECT_THAT(problem_with(job), HasSubstr("the iterations of bert is missing"));
}

TEST(ClientAdvice, AnswersOfAnotherKindAreAsNone) {
  ApiJson job = a_job();
  job["curve"] = {{"origin", 7}, {"rates", {{"1", "fast"}, {"x", 3.0}, {"2", -1.0}, {"0", 2.0}}}};
  EXPECT_THAT(problem_with(job), HasSubstr("the throughput"));
  job["curve"] = "none";
  job["batch"] = 5;
  EXPECT_THAT(problem_with(job), HasSubstr("the throughput"));
}

class AdviceOfServer : public testing::Test {
 protected:
  AdviceOfServer() {
    environment_.set("WEIR_SERVER", server_.url());
    environment_.set("WEIR_TOKEN", ScriptedServer::kToken);
    const auto job = environment_.home().write("job.yaml", "name: measured\ncommand: [x]\n");
    weir({"submit", job.string()});
  }
  ClientEnvironment environment_;
  ScriptedServer server_;
};

TEST_F(AdviceOfServer, PrintsATableAndSentences) {
  const Ran ran = weir({"job", "measured", "--advice", "--price", "A100=9,T4=1.5"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("150 iterations left, 256 samples each"), HasSubstr("cost"),
                             HasSubstr("Cheapest: 1 GPU, 1.60 times as long")));
}

TEST_F(AdviceOfServer, PrintsJson) {
  const Ran ran = weir({"job", "measured", "--advice", "--json"});
  EXPECT_EQ(ApiJson::parse(ran.out)["choices"].size(), 2U) << ran.err;
}

TEST_F(AdviceOfServer, NamesWhatIsWrong) {
  EXPECT_THAT(weir({"job", "measured", "--advice", "--price", "cheap"}).err,
              HasSubstr("--price is \"cheap\", expected a price"));
  EXPECT_THAT(weir({"job", "measured", "--price", "1"}).err,
              HasSubstr("--price is \"without --advice\""));
  const Ran other = weir({"job", "measured", "--advice", "--price", "A100=9"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("expected a price for T4, on which it runs"));
}

}  // namespace
}  // namespace weir::cli
