// SPDX-License-Identifier: Apache-2.0
//
// Jobs whose curve is planned from their model's dimensions, and what becomes of it when they run.
#include <gmock/gmock.h>

#include <future>

#include "control/controller_testing.h"
#include "control/progress_testing.h"

namespace weir::control {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::progress;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;

constexpr std::int64_t kMillion = 1'000'000;

// `layers` iterations per second on one GPU, and 1.9 times that on two; nothing with 99 layers.
Result<std::vector<Curve>> plan_by_layers(const PlannedModel& model, std::int64_t batch,
                                          std::span<const PoolGpus> pools) {
  if (model.dimensions.layers == 99) {
    return bad_input(Diagnostic{"", 0, "model", model.dimensions.name, "a model that fits"});
  }
  const std::int64_t rate = model.dimensions.layers * kMillion / batch;
  const Curve curve{{{1, IterationRate{rate}}, {2, IterationRate{rate * 19 / 10}}},
                    CurveOrigin::planned};
  return std::vector<Curve>(pools.size(), curve);
}

std::string a_planned_job(const std::string& name, int layers, const std::string& more = "",
                          const std::string& model = "gpt") {
  return R"({"name":")" + name + R"(","command":["x"],"iterations":6000,"model":{"name":")" +
         model + R"(","batch":1,"sequence":8,"hidden":8,"heads":1,"vocab":9,"layers":)" +
         std::to_string(layers) + "}" + more + "}";
}

class ControllerPlanning : public ::testing::Test {
 protected:
  ControllerPlanning() {
    rig_.config().planner = plan_by_layers;
    rig_.restart();
  }
  void work_at(JobId job, std::int64_t rate) {
    rig_.report(job, 1, RunReady{});
    for (int second = 1; second <= 12; ++second) {
      rig_.clocks().pass(seconds{1});
      rig_.report(job, 1, progress(second * rate, second));
    }
  }
  Rig rig_{small_cluster(1, 2)};
};

TEST_F(ControllerPlanning, AJobIsPromisedByWhatWasPlanned) {
  const JobId job = rig_.accept(a_planned_job("a", 10, R"(,"deadline":"10m")"));
  EXPECT_TRUE(rig_.job(job).at("promised").get<bool>());
  EXPECT_EQ(rig_.job(job).at("curve").at("origin"), "planned");
  EXPECT_EQ(rig_.job(job).at("curve").at("rates").at("2"), 19);
  EXPECT_THAT(rig_.records("curve_adopted"), SizeIs(2)) << "any program's, and this one";
  // 6000 iterations at 19 a second take more than five minutes.
  EXPECT_EQ(rig_.submit(a_planned_job("hasty", 10, R"(,"deadline":"5m")")).kind,
            SubmitAnswer::Kind::refused);
}

TEST_F(ControllerPlanning, MeasurementReplacesTheSizesThatRanAndKeepsTheShapeOfTheOthers) {
  const JobId job = rig_.accept(a_planned_job("a", 10));
  rig_.settle();
  const auto gpus = rig_.job(job).at("gpus").get<int>();
  ASSERT_EQ(gpus, 2);
  work_at(job, 5);
  const auto curves = rig_.records("curve_adopted");
  EXPECT_THAT(curves.back(),
              AllOf(HasSubstr("\"measured\""), HasSubstr("[2,5000000]"), HasSubstr("[1,2631578]")))
      << "5 as measured, 5 / 1.9 in the planned shape";
  EXPECT_EQ(rig_.job(job).at("curve").at("origin"), "planned") << "as it was answered";
  const JobId next = rig_.accept(a_planned_job("b", 10));
  EXPECT_EQ(rig_.job(next).at("curve").at("origin"), "measured");
  EXPECT_EQ(rig_.job(next).at("curve").at("rates").at("2"), 5) << "no plan overwrites it";
  EXPECT_EQ(rig_.job(next).at("curve").at("measured_on").dump(), "[2]") << "one was never seen";
  EXPECT_THAT(rig_.records("curve_adopted"), SizeIs(curves.size()));
}

TEST_F(ControllerPlanning, IsKnownAfterARestart) {
  const JobId job = rig_.accept(a_planned_job("a", 10, R"(,"deadline":"10m")"));
  rig_.config().planner = {};
  rig_.restart();
  EXPECT_EQ(rig_.job(job).at("curve").at("origin"), "planned");
  const JobId by_name = rig_.accept(
      R"({"name":"b","command":["x"],"iterations":60,"model":"gpt","batch":1,"deadline":"1h"})");
  EXPECT_EQ(rig_.job(by_name).at("curve").at("origin"), "planned");
}

TEST_F(ControllerPlanning, AModelThatWasMeasuredNeedsNoPlan) {
  const JobId job = rig_.accept(a_planned_job("a", 10));
  rig_.settle();
  work_at(job, 5);
  rig_.config().planner = {};
  rig_.restart();
  const JobId next = rig_.accept(a_planned_job("b", 10));
  EXPECT_EQ(rig_.job(next).at("curve").at("origin"), "measured");
  EXPECT_EQ(rig_.job(next).at("curve").at("rates").at("2"), 5);
  EXPECT_TRUE(rig_.dry_run(a_planned_job("c", 10)));
  const auto other = rig_.submit(a_planned_job("d", 10, R"(,"gpus":8,"rigid":true)"));
  EXPECT_EQ(other.kind, SubmitAnswer::Kind::malformed) << "nobody measured that size";
}

TEST_F(ControllerPlanning, WhatIsOnlyPlannedIsRefusedWithoutAPlanner) {
  rig_.accept(a_planned_job("a", 10));
  rig_.config().planner = {};
  rig_.restart();
  EXPECT_EQ(rig_.submit(a_planned_job("b", 10)).kind, SubmitAnswer::Kind::malformed);
}

TEST_F(ControllerPlanning, IsBetterThanWhatSomebodyAssumes) {
  rig_.accept(
      R"({"name":"s","command":["x"],"iterations":9,"model":"gpt","batch":1,"throughput":{"1":3}})");
  const JobId job = rig_.accept(a_planned_job("a", 10));
  EXPECT_EQ(rig_.job(job).at("curve").at("origin"), "planned");
  EXPECT_EQ(rig_.job(job).at("curve").at("rates").at("1"), 10);
}

TEST_F(ControllerPlanning, WhatCannotBePlannedIsSaidAndNothingHappens) {
  const auto answer = rig_.submit(a_planned_job("a", 99));
  EXPECT_EQ(answer.kind, SubmitAnswer::Kind::malformed);
  EXPECT_EQ(to_string(answer.errors), "model is \"gpt\", expected a model that fits\n");
  const auto rigid = rig_.submit(a_planned_job("a", 10, R"(,"gpus":4,"rigid":true)"));
  EXPECT_EQ(rigid.kind, SubmitAnswer::Kind::malformed);
  EXPECT_EQ(to_string(rigid.errors),
            "gpus is \"4\", expected a size on which the model fits, because it runs on exactly "
            "these: 1, 2\n");
  const auto asked = rig_.dry_run(a_planned_job("a", 99));
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::bad_input);
  EXPECT_EQ(rig_.jobs(), 0U);
}

TEST_F(ControllerPlanning, WithoutAPlannerAModelIsRefusedByName) {
  rig_.config().planner = {};
  rig_.restart();
  const auto answer = rig_.submit(a_planned_job("a", 10));
  EXPECT_EQ(answer.kind, SubmitAnswer::Kind::malformed);
  EXPECT_THAT(to_string(answer.errors), HasSubstr("nobody plans here"));
}

TEST_F(ControllerPlanning, ADryRunIsAnsweredByThePlanAndTeachesNothing) {
  const auto asked = rig_.dry_run(a_planned_job("a", 10, R"(,"deadline":"10m")"));
  ASSERT_TRUE(asked) << to_string(asked.error().details);
  EXPECT_EQ(asked->answer.kind, DryRunAnswer::Kind::promised);
  const auto hasty = rig_.dry_run(a_planned_job("a", 10, R"(,"deadline":"5m")"));
  ASSERT_TRUE(hasty);
  EXPECT_EQ(hasty->answer.kind, DryRunAnswer::Kind::refused);
  EXPECT_THAT(rig_.records("curve_adopted"), SizeIs(1));
}

TEST_F(ControllerPlanning, WhatIfItWereSubmitted) {
  WhatIfQuestion question;
  question.submit = {testing::submission_of(a_planned_job("a", 10)).document,
                     testing::submission_of(testing::kWhenever).document};
  testing::Waiting<Result<WhatIfAnswer>> waiting;
  rig_.controller().what_if(question, waiting.callback());
  const auto answer = waiting.get();
  ASSERT_TRUE(answer) << to_string(answer.error().details);
  question.submit.front() = testing::submission_of(a_planned_job("a", 99)).document;
  testing::Waiting<Result<WhatIfAnswer>> refused;
  rig_.controller().what_if(question, refused.callback());
  EXPECT_FALSE(refused.get());
}

TEST_F(ControllerPlanning, AModelIsPlannedOnce) {
  int times = 0;
  rig_.config().planner = [&](const PlannedModel& model, std::int64_t batch,
                              std::span<const PoolGpus> pools) {
    ++times;
    return plan_by_layers(model, batch, pools);
  };
  rig_.restart();
  for (int i = 0; i < 5; ++i) rig_.accept(a_planned_job("a" + std::to_string(i), 10));
  EXPECT_EQ(times, 1);
  EXPECT_TRUE(rig_.dry_run(a_planned_job("b", 10)));
  EXPECT_EQ(times, 1);
  rig_.accept(a_planned_job("c", 11, "", "larger"));
  EXPECT_EQ(times, 2);
}

// Their curve would be one, and one would be promised what the other is.
TEST_F(ControllerPlanning, ASecondModelOfAPresentNameIsRefusedAlsoAfterARestart) {
  const JobId first = rig_.accept(a_planned_job("a", 10));
  const auto curves = rig_.records("curve_adopted").size();
  for (int i = 0; i < 2; ++i) {
    const auto other = rig_.submit(a_planned_job("b", 11));
    EXPECT_EQ(other.kind, SubmitAnswer::Kind::malformed);
    EXPECT_EQ(to_string(other.errors),
              "model.name is \"gpt\", expected another name: job 1 has this one with batch 1, and "
              "its model is another one (other dimensions, sequence or gpu)\n");
    const auto asked = rig_.dry_run(a_planned_job("b", 11));
    ASSERT_FALSE(asked);
    EXPECT_THAT(to_string(asked.error().details), HasSubstr("job 1 has this one"));
    EXPECT_THAT(rig_.records("curve_adopted"), SizeIs(curves));
    rig_.restart();
  }
  rig_.accept(a_planned_job("c", 11, "", "larger"));
  const JobId same = rig_.accept(a_planned_job("d", 10));
  rig_.cancel(first);
  EXPECT_EQ(rig_.submit(a_planned_job("e", 11)).kind, SubmitAnswer::Kind::malformed);
  rig_.cancel(same);
  const JobId next = rig_.accept(a_planned_job("f", 11));
  EXPECT_EQ(rig_.job(next).at("curve").at("rates").at("1"), 11) << "nobody has the name any more";
}

TEST_F(ControllerPlanning, TwoModelsOfOneNameAreNotSupposedTogether) {
  WhatIfQuestion question;
  question.submit = {testing::submission_of(a_planned_job("a", 10)).document,
                     testing::submission_of(a_planned_job("b", 11)).document};
  testing::Waiting<Result<WhatIfAnswer>> waiting;
  rig_.controller().what_if(question, waiting.callback());
  const auto answer = waiting.get();
  ASSERT_FALSE(answer);
  EXPECT_THAT(to_string(answer.error().details),
              HasSubstr("model.name is \"gpt\", expected another name: job a beside it"));
}

// What ran before is in the curve, but nobody remembers on which sizes.
TEST_F(ControllerPlanning, AfterARestartNobodyClaimsToKnowWhichSizesRan) {
  const JobId first = rig_.accept(a_planned_job("a", 10));
  rig_.settle();
  work_at(first, 5);
  rig_.end_well(first, 1);
  rig_.restart();
  const JobId small = rig_.accept(a_planned_job("b", 10, R"(,"gpus":1,"rigid":true)"));
  rig_.settle();
  ASSERT_EQ(rig_.job(small).at("gpus"), 1);
  work_at(small, 4);
  const JobId next = rig_.accept(a_planned_job("c", 10));
  const auto curve = rig_.job(next).at("curve");
  EXPECT_EQ(curve.at("origin"), "measured");
  EXPECT_FALSE(curve.contains("measured_on")) << "[1] would deny that two ran: " << curve.dump();
}

TEST_F(ControllerPlanning, WhoWaitsForAPlanIsAnsweredWhenTheServerStops) {
  std::promise<void> begun;
  std::promise<SubmitAnswer> second;
  auto answered = second.get_future();
  bool was_answered_in_time = false;
  // In hand until the one behind it has its answer.
  rig_.config().planner = [&](const PlannedModel& model, std::int64_t batch,
                              std::span<const PoolGpus> pools) {
    begun.set_value();
    was_answered_in_time = answered.wait_for(seconds{60}) == std::future_status::ready;
    return plan_by_layers(model, batch, pools);
  };
  rig_.restart();
  testing::Waiting<SubmitAnswer> first;
  rig_.controller().submit(testing::submission_of(a_planned_job("a", 10)), first.callback());
  begun.get_future().wait();
  rig_.controller().submit(testing::submission_of(a_planned_job("b", 10)),
                           [&](SubmitAnswer answer) { second.set_value(std::move(answer)); });
  rig_.controller().stop();
  EXPECT_EQ(first.get().kind, SubmitAnswer::Kind::unavailable);
  ASSERT_TRUE(was_answered_in_time);
  EXPECT_EQ(answered.get().kind, SubmitAnswer::Kind::unavailable);
}

}  // namespace
}  // namespace weir::control
