// SPDX-License-Identifier: Apache-2.0
#include "control/what_if.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "control/controller_testing.h"

namespace weir::control {
namespace {

using SortedJson = nlohmann::json;
using ::testing::HasSubstr;
using testing::Rig;
using testing::small_cluster;
using testing::submission_of;
using testing::Waiting;

constexpr const char* kAll = R"({"name":"all","command":["x"],"gpus":8,"duration":"10m"})";

std::string mistakes_of(std::string_view text) {
  const auto read = read_what_if(text);
  std::string all;
  if (read) return all;
  for (const Diagnostic& mistake : read.error().details.list())
    all += mistake.field + ": " + mistake.expected + "\n";
  return all;
}

TEST(WhatIfQuestion, AllMistakesAreToldAtOnce) {
  const std::string told =
      mistakes_of(R"({"add_nodes": 0, "lose": "n", "policy": 3, "submit": [{}], "other": 1})");
  for (const char* part : {"add_nodes: a whole number", "lose: a list", "policy: the name",
                           "command", "other: one of"})
    EXPECT_THAT(told, HasSubstr(part));
}

TEST(WhatIfQuestion, HasToSupposeSomething) {
  EXPECT_THAT(mistakes_of("{}"), HasSubstr("one of add_nodes"));
  EXPECT_THAT(mistakes_of(R"({"records": true})"), HasSubstr("one of add_nodes"));
  EXPECT_THAT(mistakes_of("["), HasSubstr("a JSON object"));
  EXPECT_EQ(mistakes_of(R"({"lose": ["a"]})"), "");
}

SortedJson ask(Rig& rig, const char* question) {
  Waiting<Result<WhatIfAnswer>> answer;
  rig.controller().what_if(read_what_if(question).value(), answer.callback());
  return SortedJson::parse(to_json(answer.get().value(), true));
}

TEST(WhatIf, ASecondHalfOfTheClusterStartsTheJobThatWaits) {
  Rig rig{small_cluster(2, 4)};
  rig.submit(kAll);
  rig.submit(kAll);
  const SortedJson answer = ask(rig, R"({"add_nodes": 2})");
  EXPECT_EQ(answer["now"]["gpus"], 8);
  EXPECT_EQ(answer["then"]["gpus"], 16);
  EXPECT_GT(answer["now"]["jobs"][1]["start"], answer["from"]);
  EXPECT_EQ(answer["then"]["jobs"][1]["start"], answer["from"]);
  EXPECT_LT(answer["then"]["jobs"][1]["finish"], answer["now"]["jobs"][1]["finish"]);
  EXPECT_EQ(answer["then"]["pools"][0]["nodes"], 4);
}

TEST(WhatIf, ARackIsAllOfItsNodes) {
  Cluster cluster = small_cluster(3, 4);
  cluster.nodes[0].rack = cluster.nodes[2].rack = "rack3";
  Rig rig{cluster};
  EXPECT_EQ(ask(rig, R"({"lose": ["rack3"]})")["then"]["gpus"], 4);
  const std::string both = R"({"lose": ["rack3", ")" + cluster.nodes[2].name + "\"]}";
  EXPECT_EQ(ask(rig, both.c_str())["then"]["gpus"], 4);
  Waiting<Result<WhatIfAnswer>> answer;
  rig.controller().what_if(read_what_if(R"({"lose": ["rack4"]})").value(), answer.callback());
  EXPECT_THAT(to_string(answer.get().error().details), HasSubstr("did you mean rack3?"));
}

TEST(WhatIf, ASupposedJobIsAnsweredAndHasNoNumber) {
  Rig rig{small_cluster(2, 4)};
  const SortedJson answer =
      ask(rig, R"({"submit": [{"name":"x","command":["x"],"duration":"10m","deadline":"20m"}]})");
  EXPECT_TRUE(answer["now"]["jobs"].empty());
  EXPECT_EQ(answer["then"]["jobs"][0]["answer"], "promised");
  EXPECT_EQ(answer["then"]["totals"]["kept"], 1);
  EXPECT_FALSE(answer["then"]["jobs"][0].contains("id"));
}

TEST(WhatIf, AJobThatWaitsIsToldWhatWouldStartIt) {
  Rig rig{small_cluster(2, 4)};
  rig.submit(kAll);
  rig.submit(kAll);
  Waiting<Result<ShownCounterfactuals>> answer;
  rig.controller().counterfactuals(JobId{2}, formats::read_job_json(kAll, "test").value(),
                                   answer.callback());
  const SortedJson lines = SortedJson::parse(to_json(answer.get().value()))["would_change"];
  std::vector<std::string> told;
  for (const SortedJson& line : lines) told.push_back(line["text"]);
  EXPECT_THAT(told, ::testing::ElementsAre("with 2 more nodes: starts now",
                                           "if job 1 (all) were cancelled: starts now"));
}

}  // namespace
}  // namespace weir::control
