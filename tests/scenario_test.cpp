// SPDX-License-Identifier: Apache-2.0
//
// Runs every file of tests/scenarios.
#include "scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "training_scenario.h"

namespace weir::tests {
namespace {

using Run = Result<ScenarioReport> (*)(const std::string&, const std::string&);

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.path().extension() == ".scn") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void happens_as_written(Run run, const std::filesystem::path& path) {
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  const auto report = run(path.filename().string(), text.str());
  ASSERT_TRUE(report.has_value()) << to_string(report.error().details);
  std::string log;
  for (const std::string& line : report->log) log += "  " + line + "\n";
  EXPECT_THAT(report->missing, ::testing::IsEmpty()) << "what happened:\n" << log;
  EXPECT_THAT(report->surplus, ::testing::IsEmpty()) << "what happened:\n" << log;
}

std::string name_of(const ::testing::TestParamInfo<std::filesystem::path>& scenario) {
  std::string name = scenario.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Scenarios : public ::testing::TestWithParam<std::filesystem::path> {};
TEST_P(Scenarios, HappensAsWritten) {
  happens_as_written(run_scenario, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, Scenarios, ::testing::ValuesIn(files_in(WEIR_SCENARIOS)), name_of);

class SharedScenarios : public ::testing::TestWithParam<std::filesystem::path> {};
TEST_P(SharedScenarios, HappensAsWritten) {
  happens_as_written(run_training_scenario, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Files, SharedScenarios,
                         ::testing::ValuesIn(files_in(WEIR_SCENARIOS "/shared")), name_of);

TEST(ScenarioRunner, ReportsWhatDidNotHappenAndWhatHappenedInstead) {
  const auto report = run_scenario("x.scn",
                                   "cluster 1 nodes x 1 gpus\njob a gpus 1 at 0s runs 1s\n"
                                   "expect at 0s: a waits\nexpect nothing else\n");
  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(report->missing, ::testing::ElementsAre("at 0s: a waits"));
  EXPECT_THAT(report->surplus,
              ::testing::ElementsAre("at 0s: a starts on node-1", "at 1s: a ends"));
}

TEST(ScenarioRunner, NamesEveryMistakeOfAFile) {
  const auto report =
      run_scenario("x.scn", "clutser 1\npolicy none\njob a gpus many\nlose node-9 at 1s\n");
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().details.total(), 4U);
}

}  // namespace
}  // namespace weir::tests
