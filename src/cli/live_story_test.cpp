// SPDX-License-Identifier: Apache-2.0
#include "cli/live_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "formats/log_codec.h"
#include "formats/record_log_header.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr const char* kView =
    R"({"id":1,"name":"bert","curve":{"origin":"stated","rates":{"2":19,"1":10}}})";
const Time kCame{from_seconds(1'794'729'600)};

std::string header_line() {
  formats::RecordLogHeader header;
  header.pools = {{"T4", 1, 8, 8, {}}};
  header.policy = "weir";
  std::string text;
  formats::append_header_line(text, header, "0.1.0");
  return text + "\n";
}

std::string records_of_a_refused_job() {
  TrainingSpec spec;
  spec.name = "bert";
  spec.curve = {"bert", 0};
  spec.iterations = 200;
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = kCame + from_seconds(4 * 3600);
  std::string text = header_line();
  formats::append_record_line(
      text,
      {kCame,
       {},
       TrainingAccepted{JobId{1}, std::make_shared<const TrainingSpec>(spec), PoolIndex{0}, 10}},
      7, "0.1.0");
  text += "\n";
  formats::append_record_line(text,
                              {kCame,
                               {ReasonCode::too_slow_alone, 0},
                               PromiseRefused{JobId{1}, kCame + from_seconds(6 * 3600)}},
                              12, "0.1.0");
  return text + "\n";
}

TEST(LiveStory, IsTheSameForPeopleAndPrograms) {
  const std::string records = records_of_a_refused_job();
  const auto body = live_story_json(kView, records);
  ASSERT_TRUE(body && *body);
  EXPECT_EQ((*body)->find('\n'), std::string::npos) << "one line";
  const Json json = Json::parse(**body);
  ASSERT_EQ(json.size(), 2U);
  const auto told = live_story(kView, records, kCame);
  ASSERT_TRUE(told && *told);
  EXPECT_EQ(json.at("text"), report::story_text((*told)->story, (*told)->context));
  Json explained = json.at("explain");
  Json expected = Json::parse(*report::story_json((*told)->story, (*told)->context)).at("explain");
  for (Json* each : {&explained, &expected}) each->erase("told_until_s");  // now
  EXPECT_EQ(explained, expected);
  EXPECT_EQ(json.at("explain").at("answer"), "refused");
  EXPECT_EQ(json.at("explain").at("throughput").at("origin"), "stated");
}

TEST(LiveStory, AJobThatIsNotOverIsToldUntilNow) {
  std::string records = records_of_a_refused_job();
  records.resize(records.rfind('\n', records.size() - 2) + 1);
  const Time now = kCame + from_seconds(60);
  const auto told = live_story(kView, records, now);
  ASSERT_TRUE(told && *told);
  EXPECT_EQ((*told)->story.told_until, now);
}

TEST(LiveStory, WithoutItsBeginningThereIsNone) {
  const auto told = live_story(kView, header_line(), kCame);
  ASSERT_TRUE(told);
  EXPECT_FALSE(*told);
  const auto body = live_story_json(kView, header_line());
  ASSERT_TRUE(body);
  EXPECT_FALSE(*body);
}

TEST(LiveStory, WhatCannotBeReadIsAFailure) {
  for (const char* view : {"", "[]", "{}", "{\"id\":\"1\"}", "{\"id\":-1}"})
    EXPECT_FALSE(live_story(view, records_of_a_refused_job(), kCame)) << view;
  const auto broken = live_story(kView, header_line() + "nonsense\n", kCame);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::failure);
  EXPECT_THAT(to_string(broken.error().details), HasSubstr("the server's records:2"));
  EXPECT_FALSE(live_story(kView, "", kCame));
}

}  // namespace
}  // namespace weir::cli
