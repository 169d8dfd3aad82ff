// SPDX-License-Identifier: Apache-2.0
#include "report/outcome_json.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "report/outcomes_testing.h"

namespace weir::report {
namespace {

using ::testing::HasSubstr;
using SortedJson = nlohmann::json;

TEST(OutcomeJson, HasTheKeysOfTheContract) {
  const auto text = outcome_json(std::vector{a_run("fgd", 42, 95), a_run("fgd", 43, 94)});
  ASSERT_TRUE(text);
  const SortedJson json = SortedJson::parse(*text);
  ASSERT_EQ(json.at("runs").size(), 2U);
  const SortedJson& run = json["runs"][0];
  EXPECT_EQ(run.at("policy"), "fgd");
  EXPECT_EQ(run.at("workload"), "default");
  EXPECT_EQ(run.at("tasks_file"), "traces/default.csv");
  EXPECT_EQ(run.at("seed"), 42);
  EXPECT_EQ(run.at("tasks"), 1000);
  EXPECT_EQ(run.at("failed"), 15);
  EXPECT_EQ(run.at("failed_cpu_only"), 5);
  EXPECT_EQ(run.at("allocated").size(), 131U);
  EXPECT_EQ(run.at("allocated").at("100"), 95);
  EXPECT_EQ(run.at("fragmented").at("0"), 8);
  EXPECT_FALSE(run.contains("timing"));
}

TEST(OutcomeJson, RoundsExactlyToFourDecimals) {
  simulate::InflationOutcome run = a_run("fgd", 42, 95);
  run.arrived[100].allocated_milli = {2 * 95'462 + 1, 2};  // 95.4625 % of 100,000
  run.arrived[100].fragmented_micro = {1, 3};              // far below the last decimal
  run.arrived[99] = {};
  const auto text = outcome_json(std::vector{run});
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("\"98\":95.0,\"100\":95.4625,\"101\""));
  EXPECT_EQ(SortedJson::parse(*text)["runs"][0]["fragmented"]["100"], 0);
}

TEST(OutcomeJson, HasTimingOnlyWhenItWasMeasured) {
  simulate::InflationOutcome run = a_run("fgd", 42, 95);
  run.timing = simulate::DecisionTiming{0.9};
  const auto text = outcome_json(std::vector{run});
  ASSERT_TRUE(text);
  EXPECT_EQ(SortedJson::parse(*text)["runs"][0]["timing"]["decision_us_mean"], 0.9);
}

TEST(OutcomeJson, HoldsEveryFigureOfAChurnRun) {
  const auto text = outcome_json(std::vector{a_churn_run("fgd", 0.9, "fifo", 42, 10)});
  ASSERT_TRUE(text);
  const SortedJson run = SortedJson::parse(*text).at("churn").at(0);
  for (const char* key : {"policy", "workload", "tasks_file", "queue", "expectation", "load",
                          "seed", "jobs", "never_fit", "wait_mean_s", "wait_p99_s",
                          "allocated_percent", "fragmented_percent", "makespan_s"}) {
    EXPECT_TRUE(run.contains(key)) << key;
  }
  EXPECT_EQ(run["load"], 0.9);
}

TEST(OutcomeJson, ANumberThatJsonCannotHoldIsAnError) {
  simulate::ChurnOutcome run = a_churn_run("fgd", 0.9, "fifo", 42, 10);
  run.makespan_s = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(outcome_json(std::vector{run}));
}

TEST(OutcomeJson, OfNoRunsIsAnEmptyList) {
  EXPECT_EQ(*outcome_json(std::span<const simulate::InflationOutcome>{}), "{\"runs\":[\n]}\n");
}

}  // namespace
}  // namespace weir::report
