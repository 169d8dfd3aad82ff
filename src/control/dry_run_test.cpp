// SPDX-License-Identifier: Apache-2.0
#include "control/dry_run.h"

#include <gmock/gmock.h>

#include "control/controller_testing.h"
#include "formats/record_log.h"
#include "formats/time_text.h"

namespace weir::control {
namespace {

using std::chrono::minutes;
using testing::error_of;
using testing::Rig;
using testing::small_cluster;

std::string_view name_of(DryRunAnswer::Kind kind) {
  constexpr std::string_view kNames[] = {"promised", "queued", "refused", "waiting"};
  return kNames[static_cast<std::size_t>(kind)];
}

// A dry run in the words of a job's view.
nlohmann::json shown(const ShownDryRun& run) {
  nlohmann::json json;
  const auto add = [&](const char* name, const std::optional<Time>& time) {
    if (time) json[name] = formats::format_time(*time + run.wall_ahead);
  };
  json["answer"] = name_of(run.answer.kind);
  json["reason_code"] = formats::reason_name(run.answer.reason.code);
  add("deadline", run.answer.deadline);
  add("expected_start", run.answer.expected_start);
  add("expected_finish", run.answer.expected_finish);
  if (run.answer.kind == DryRunAnswer::Kind::refused)
    add("earliest_deadline", run.answer.earliest_deadline);
  return json;
}

nlohmann::json shown(const SubmitAnswer& answer) {
  const auto view = nlohmann::json::parse(answer.view);
  nlohmann::json json;
  const auto phase = view.at("phase").get<std::string>();
  json["answer"] = phase == "queued" && view.value("promised", false) ? "promised" : phase;
  for (const char* name :
       {"reason_code", "deadline", "expected_start", "expected_finish", "earliest_deadline"}) {
    if (view.contains(name)) json[name] = view.at(name);
  }
  return json;
}

TEST(DryRun, AnswersWhatASubmissionIsThenAnswered) {
  Rig rig{small_cluster(2, 4)};
  SeededRng rng{11};
  std::map<std::string, int> seen;
  for (int i = 0; i < 60; ++i) {
    const auto number = [&](std::uint64_t from, std::uint64_t to) {
      return std::to_string(from + rng.below(to - from));
    };
    std::string fields;
    const auto kind = rng.below(6);
    if (kind < 2) {
      fields = R"("duration":")" + number(60, 2400) + R"(s","gpus":)" +
               std::to_string(1 << rng.below(4));
    } else if (kind < 5) {
      fields = R"("iterations":)" + number(500, 40'000) + R"(,"model":"m)" + number(0, 3) +
               R"(","throughput":{"1":10,"2":)" + number(11, 20) + R"(,"4":)" + number(20, 36) +
               "}";
    } else {
      fields = R"("iterations":500,"model":"unknown)" + number(0, 9) + "\"";
    }
    if (rng.below(5) > 0) {
      fields += R"(,"deadline":")" + number(5, 90) + R"(m")";
      if (rng.below(4) == 0) fields += R"(,"kind":"soft")";
    }
    const std::string job = R"({"name":"a","command":["x"],)" + fields + "}";
    rig.settle();  // what followed from the job before is decided
    const auto before = rig.jobs();
    const auto end = rig.controller().log_end().record;
    const auto dry = rig.dry_run(job);
    ASSERT_TRUE(dry) << error_of(dry);
    EXPECT_EQ(rig.jobs(), before);
    EXPECT_EQ(rig.controller().log_end().record, end) << "a dry run leaves no trace";
    const auto expected = shown(*dry);
    ++seen[expected.at("answer").get<std::string>()];
    EXPECT_EQ(shown(rig.submit(job)), expected) << job;
    if (rng.below(4) == 0) rig.pass(minutes{2});
  }
  for (const char* answer : {"promised", "queued", "refused", "waiting"})
    EXPECT_GT(seen[answer], 0) << answer;
}

TEST(DryRun, NamesADeadlineThatIsPromised) {
  Rig rig{small_cluster(1, 1)};
  rig.accept(R"({"name":"a","command":["x"],"duration":"30m","deadline":"40m"})");
  const auto dry = rig.dry_run(R"({"name":"b","command":["x"],"duration":"10m"})");
  ASSERT_TRUE(dry) << error_of(dry);
  ASSERT_TRUE(dry->answer.earliest_deadline) << "also of a job that asks for none";
  const auto deadline = formats::format_time(*dry->answer.earliest_deadline + dry->wall_ahead);
  const auto answer = rig.submit(R"({"name":"b","command":["x"],"duration":"10m","deadline":")" +
                                 deadline + R"("})");
  EXPECT_EQ(answer.kind, SubmitAnswer::Kind::accepted) << answer.view;
  EXPECT_EQ(nlohmann::json::parse(answer.view).at("promised"), true);
}

TEST(DryRun, SaysWhatThisClusterCannotGive) {
  Rig rig{small_cluster(1, 2)};
  const auto dry = rig.dry_run(R"({"name":"a","command":["x"],"gpus":64})");
  ASSERT_FALSE(dry);
  EXPECT_EQ(dry.error().code, ErrorCode::bad_input);
  EXPECT_THAT(error_of(dry), ::testing::HasSubstr("gpus is \"64\""));
}

TEST(DryRun, ManyAtOnceAreAnsweredOrTurnedAway) {
  Rig rig{small_cluster(1, 2)};
  constexpr int kMany = 600;  // more than may wait
  std::vector<testing::Waiting<Result<ShownDryRun>>> waiting(kMany);
  const auto document =
      testing::submission_of(R"({"name":"a","command":["x"],"duration":"1m","deadline":"1h"})")
          .document;
  for (auto& answer : waiting) rig.controller().dry_run(document, answer.callback());
  int answered = 0;
  for (auto& each : waiting) {
    const auto answer = each.get();
    if (answer) {
      ++answered;
    } else {
      EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
    }
  }
  EXPECT_GE(answered, 1);
}

}  // namespace
}  // namespace weir::control
