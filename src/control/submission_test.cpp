// SPDX-License-Identifier: Apache-2.0
#include "control/submission.h"

#include <gmock/gmock.h>

#include "control/controller_testing.h"
#include "formats/time_text.h"

namespace weir::control {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::AllOf;
using testing::error_of;
using testing::HandClocks;
using ::testing::HasSubstr;
using testing::submission_of;

class SubmissionSpec : public ::testing::Test {
 protected:
  // On nodes of four GPUs: blocks of up to eight.
  Result<TrainingSpec> spec(const std::string& fields) {
    const auto submission = submission_of(R"({"name":"a","command":["x"],)" + fields + "}");
    const auto state =
        schedule::initial_training_state(testing::small_cluster(2, 4), schedule::SizeRule::useful);
    return training_spec(submission.document, state, clock_.now(), clock_);
  }

  HandClocks clocks_;
  LiveClock clock_{std::nullopt, clocks_};
};

TEST_F(SubmissionSpec, AnyProgramTakesItsTimeOnExactlyItsGpus) {
  const auto made = spec(R"("duration":"90s","gpus":2,"deadline":"10m")");
  ASSERT_TRUE(made) << error_of(made);
  EXPECT_EQ(made->curve, any_program());
  EXPECT_TRUE(made->is_rigid);
  EXPECT_EQ(made->asked_gpus, 2);
  EXPECT_EQ(made->deadline, clock_.now() + std::chrono::minutes{10});
  EXPECT_EQ(made->deadline_kind, DeadlineKind::hard);
  const Curve curve = any_program_curve();
  for (const CurvePoint& point : curve.measured()) {
    EXPECT_EQ(time_for(work_of_iterations(made->iterations), point.rate), seconds{90})
        << point.gpus;
  }
  EXPECT_EQ(spec(R"("duration":"0.0004s")")->iterations, 1) << "never nothing";
}

TEST_F(SubmissionSpec, IsOfItsTenantAndHasItsPriority) {
  const auto made = spec(R"("tenant":"vision","priority":-7)");
  ASSERT_TRUE(made) << error_of(made);
  EXPECT_EQ(made->tenant, "vision");
  EXPECT_EQ(made->priority, -7);
}

TEST_F(SubmissionSpec, AProgramThatDoesNotSayTakesAnHour) {
  const auto made = spec(R"("gpus":1)");
  ASSERT_TRUE(made) << error_of(made);
  EXPECT_EQ(made->iterations, 3'600'000);
  EXPECT_EQ(made->deadline_kind, DeadlineKind::none);
}

TEST_F(SubmissionSpec, ATrainingJobHasItsOwnCurveAndMayChangeItsSize) {
  const auto made = spec(R"("iterations":50,"model":"bert","batch":32,"gpus":3,"kind":"soft",
                           "deadline":"1h")");
  ASSERT_TRUE(made) << error_of(made);
  EXPECT_EQ(made->curve, (CurveKey{"bert", 32}));
  EXPECT_EQ(made->iterations, 50);
  EXPECT_FALSE(made->is_rigid);
  EXPECT_EQ(made->deadline_kind, DeadlineKind::soft);
}

TEST_F(SubmissionSpec, SizesThatNoBlockHasAreNamed) {
  EXPECT_THAT(error_of(spec(R"("gpus":64)")),
              AllOf(HasSubstr("gpus is \"64\""), HasSubstr("a power of two up to 8")));
  EXPECT_THAT(error_of(spec(R"("iterations":5,"rigid":true,"gpus":64)")), HasSubstr("gpus"));
  EXPECT_TRUE(spec(R"("iterations":5,"gpus":64)")) << "a hint";
  EXPECT_THAT(error_of(spec(R"("iterations":5,"throughput":{"16":9,"32":12})")),
              HasSubstr("a rate for 8 GPUs or fewer"));
  EXPECT_TRUE(spec(R"("iterations":5,"throughput":{"8":9,"32":12})"));
}

TEST_F(SubmissionSpec, ATimeIsTheWallClocks) {
  clocks_.set_wall(hours{1});
  ASSERT_TRUE(clock_.take_step());
  const Time at = clocks_.wall() + seconds{100};
  const auto made = spec(R"("duration":"1s","deadline":")" + formats::format_time(at) + "\"");
  ASSERT_TRUE(made) << error_of(made);
  EXPECT_EQ(made->deadline, clock_.now() + seconds{100});
  const auto late = formats::format_time(clocks_.wall());
  EXPECT_THAT(error_of(spec(R"("duration":"1s","deadline":")" + late + "\"")),
              AllOf(HasSubstr("deadline is \"" + late), HasSubstr("a time after now")));
}

TEST_F(SubmissionSpec, AllMistakesAreToldAtOnce) {
  const auto made = spec(R"("gpus":64,"duration":"1s","deadline":"2001-01-01T00:00:00Z")");
  EXPECT_THAT(error_of(made), AllOf(HasSubstr("gpus"), HasSubstr("deadline")));
}

}  // namespace
}  // namespace weir::control
