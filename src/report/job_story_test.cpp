// SPDX-License-Identifier: Apache-2.0
#include "report/job_story.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/job_story_text.h"
#include "report/outcomes_testing.h"

namespace weir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TrainingAccepted accepted(std::uint64_t id, std::string name) {
  TrainingSpec spec;
  spec.name = std::move(name);
  spec.curve = {"bert", 64};
  spec.iterations = 100;
  spec.deadline_kind = DeadlineKind::hard;
  spec.deadline = at(600);
  return {JobId{id}, std::make_shared<const TrainingSpec>(spec), PoolIndex{0}, 0};
}

// What a scheduler might record; a test adds what it is about.
class Story : public ::testing::Test {
 protected:
  void hear(std::int64_t seconds, auto what, Reason reason = {}) {
    collector_.hear({at(seconds), reason, std::move(what)});
  }
  std::string text() {
    context_.names = collector_.names();
    return story_text(*collector_.story(), context_);
  }

  JobStoryCollector collector_{"a"};
  StoryContext context_{{{"T4", 16, 4, 4, {}}}, {}, "weir", true, {}};
};

TEST_F(Story, TellsAskedAnswerPlanChangesAndEnd) {
  hear(0, accepted(1, "b"));
  hear(60, accepted(2, "a"));
  hear(60, TimelineRevised{JobId{1}, {}}, {ReasonCode::makes_room, 2});
  hear(60, PromiseMade{JobId{2}, at(600), {{{at(60), {8, 4}}, {at(300), {16, 8}}}, at(540)}},
       {ReasonCode::fits_after_replan, 1});
  hear(60, JobResized{JobId{2}, 1, {8, 4}}, {ReasonCode::as_promised, 0});
  hear(100, JobResized{JobId{1}, 1, {0, 1}}, {ReasonCode::as_promised, 0});
  hear(480, JobReleased{JobId{2}});
  EXPECT_EQ(text(),
            "a (job 2) asks to train bert with batch 64 for 100 iterations.\n"
            "It came at 1m and is to be done by 10m, 9m later.\n"
            "\n"
            "Promised at 1m. There is room for it once 1 other job is planned anew.\n"
            "Planned anew for it: b.\n"
            "\n"
            "The plan, made at 1m\n"
            "from  to  GPUs  where\n"
            "----  --  ----  ------------\n"
            "1m    5m     4  T4 node 3\n"
            "5m    9m     8  T4 nodes 5-6\n"
            "It ends at 9m, 1m before its deadline.\n"
            "\n"
            "What happened\n"
            "at  GPUs  where      why\n"
            "--  ----  ---------  ----------------------------\n"
            "1m     4  T4 node 3  its promise needs these GPUs\n"
            "\n"
            "It finished at 8m, 2m before its deadline.\n");
}

TEST_F(Story, SaysWhichThroughputItWasPlannedWith) {
  const CurveKey bert{"bert", 64};
  const auto know = [&](std::int64_t rate, CurveOrigin origin) {
    const std::vector<CurvePoint> points{{1, IterationRate{rate}}, {2, IterationRate{18'900'000}}};
    CurveAdopted adopted;
    adopted.key = bert;
    adopted.curve = std::make_shared<const Curve>(points, origin);
    hear(0, adopted);
  };
  know(10'200'000, CurveOrigin::measured);
  hear(60, accepted(2, "a"));
  hear(60, JobUnpromised{JobId{2}}, {ReasonCode::no_promise_asked, 0});
  know(1, CurveOrigin::measured);
  hear(70, PromiseAtRisk{JobId{2}, at(900)});
  EXPECT_THAT(
      text(),
      HasSubstr("It was planned with measured throughput: 10.2 it/s on 1 GPU, 18.9 on 2.\n"));
  know(10'200'000, CurveOrigin::assumed);
  hear(80, accepted(3, "a"));
  hear(80, JobUnpromised{JobId{3}}, {ReasonCode::no_promise_asked, 0});
  EXPECT_THAT(text(), HasSubstr("with assumed throughput, which nobody has measured: 10.2 it/s"));
  know(10'200'000, CurveOrigin::planned);
  hear(90, accepted(4, "a"));
  hear(90, JobUnpromised{JobId{4}}, {ReasonCode::no_promise_asked, 0});
  EXPECT_THAT(text(), HasSubstr("with throughput from a plan of its model, which nobody has "
                                "measured: 10.2 it/s"));
  EXPECT_THAT(*story_json(*collector_.story(), context_), HasSubstr("\"origin\": \"planned\""));
  JobStory scaled = *collector_.story();
  scaled.throughput->origin = "measured";
  scaled.throughput->measured_on = {2};
  EXPECT_THAT(story_text(scaled, context_),
              HasSubstr("18.9 on 2. Measured on 2 GPUs; the other sizes are scaled from that.\n"));
  EXPECT_THAT(*story_json(scaled, context_), HasSubstr("\"measured_on\""));
  scaled.throughput->measured_on = {1, 2};
  EXPECT_THAT(story_text(scaled, context_), HasSubstr("18.9 on 2.\n")) << "nothing is scaled";
  JobStory stated = *collector_.story();
  stated.throughput->origin = "stated";
  EXPECT_THAT(story_text(stated, context_), HasSubstr("with the throughput its file states: 10.2"));
  EXPECT_THAT(*story_json(stated, context_), HasSubstr("\"origin\": \"stated\""));
}

TEST_F(Story, NamesTheEarliestDeadlineOfARefusedJob) {
  hear(60, accepted(1, "a"));
  hear(60, PromiseRefused{JobId{1}, at(900)}, {ReasonCode::no_room, 0});
  EXPECT_THAT(text(),
              HasSubstr("Refused at 1m. It cannot be done by then beside the promises already "
                        "made.\nThe earliest deadline that can be promised is 15m: 14m after it "
                        "came, 5m later than asked.\n"));
  EXPECT_THAT(text(), Not(HasSubstr("waits")));
}

TEST_F(Story, SaysWhyAPlanWasMadeAnew) {
  hear(0, accepted(1, "a"));
  hear(0, PromiseMade{JobId{1}, at(600), {{{at(0), {0, 4}}}, at(500)}});
  hear(50, accepted(2, "guest"));
  hear(50, TimelineRevised{JobId{1}, {{{at(50), {0, 2}}}, at(590)}}, {ReasonCode::makes_room, 2});
  hear(70, TimelineRevised{JobId{1}, {{{at(70), {0, 1}}}, at(595)}},
       {ReasonCode::ahead_of_plan, 0});
  EXPECT_THAT(text(),
              HasSubstr("Its plan was made anew 1 time to make room for guest, 1 time because "
                        "jobs were ahead of theirs.\n"));
  EXPECT_THAT(text(), HasSubstr("The plan now, made at 1m10s\n"));
  EXPECT_THAT(text(), HasSubstr("It waits for the GPUs of its plan.\n"));
}

TEST_F(Story, AJobThatWaitsIsToldWhenItWouldRunIfNobodyElseCame) {
  hear(0, accepted(1, "a"));
  hear(0, JobUnpromised{JobId{1}, at(100), at(650)}, {ReasonCode::no_room, 0});
  context_.forecast = JobForecast{at(120), at(700)};
  EXPECT_THAT(text(),
              HasSubstr("Not promised, but accepted. It cannot be done by then beside the "
                        "promises already made. It runs when GPUs are left and may be late.\n"
                        "As things stood, it was to start at 1m40s and to finish at 10m50s.\n"));
  EXPECT_THAT(text(),
              HasSubstr("It waits: no GPUs are left for it yet.\n"
                        "If no other job comes, it starts at 2m and finishes at 11m40s, 1m40s "
                        "after its deadline.\n"));
}

TEST_F(Story, ALargeJobIsPlannedFirstAndPromisedLater) {
  hear(0, accepted(1, "a"));
  hear(0, PlannedProvisionally{JobId{1}, {{{at(0), {0, 4}}}, at(500)}},
       {ReasonCode::larger_than_most, 0});
  EXPECT_THAT(text(),
              HasSubstr("Planned at 0s, but not promised yet. It is much larger than most"));
  hear(90, PromiseMade{JobId{1}, at(600), {{{at(0), {0, 4}}}, at(500)}},
       {ReasonCode::ahead_of_plan, 0});
  EXPECT_THAT(text(), HasSubstr("Planned at 0s, promised at 1m30s, when enough of it was done.\n"));
  EXPECT_THAT(text(), Not(HasSubstr("made anew"))) << "it is the same plan";
}

TEST_F(Story, WarnsOfAPromiseAtRisk) {
  hear(0, accepted(1, "a"));
  hear(0, PromiseMade{JobId{1}, at(600), {{{at(0), {0, 4}}}, at(500)}});
  hear(60, JobResized{JobId{1}, 1, kNoGpus}, {ReasonCode::node_lost, 3});
  hear(60, PromiseAtRisk{JobId{1}, at(720)}, {ReasonCode::behind_plan, 0});
  EXPECT_THAT(text(), HasSubstr("a node under it was lost"));
  EXPECT_THAT(text(),
              HasSubstr("At 1m its promise was at risk: it was expected at 12m, 2m after its "
                        "deadline.\n"));
}

TEST_F(Story, AJobMayBeNamedByItsNumberUnlessThatIsAName) {
  JobStoryCollector by_number{"2"};
  by_number.hear({at(0), {}, accepted(1, "x")});
  by_number.hear({at(0), {}, accepted(2, "y")});
  EXPECT_EQ(by_number.story()->spec->name, "y");
  by_number.hear({at(0), {}, accepted(3, "2")});
  EXPECT_EQ(by_number.story()->id, JobId{3});
  EXPECT_FALSE(JobStoryCollector{"z"}.story());
}

TEST_F(Story, AJobThatFailedDidNotFinish) {
  hear(0, accepted(1, "a"));
  hear(0, JobResized{JobId{1}, 1, {0, 1}}, {ReasonCode::left_over, 0});
  hear(60, JobReleased{JobId{1}}, {ReasonCode::failed, 0});
  EXPECT_THAT(text(), HasSubstr("It failed at 1m.\n"));
  const auto json = nlohmann::json::parse(*story_json(*collector_.story(), context_))["explain"];
  EXPECT_EQ(json["failed_s"], 60);
  EXPECT_EQ(json["finished_s"], nullptr);
}

TEST_F(Story, AProgramThatTrainsNothingIsToldByItsLength) {
  TrainingAccepted job = accepted(1, "a");
  TrainingSpec spec = *job.spec;
  spec.curve = {"any program", 0};
  spec.iterations = 90'000;
  spec.is_rigid = true;
  job.spec = std::make_shared<const TrainingSpec>(spec);
  hear(0, job);
  EXPECT_THAT(text(), HasSubstr("a (job 1) asks to run a program for 1m30s on exactly 1 GPU.\n"));
}

TEST_F(Story, WithSlotsTheEndIsWhenTheWorkWasDoneNotWhenItWasHeard) {
  collector_ = JobStoryCollector{"a", from_seconds(60)};
  const auto curve = std::make_shared<const Curve>(
      std::vector<CurvePoint>{{1, IterationRate{1'000'000}}});  // one iteration per second
  hear(0, CurveAdopted{PoolIndex{0}, {"bert", 64}, curve});
  hear(0, accepted(1, "a"));
  hear(0, JobResized{JobId{1}, 1, {0, 1}});
  hear(4, JobObserved{JobId{1}, work_of_iterations(100), at(4)});
  hear(120, JobReleased{JobId{1}});
  EXPECT_EQ(collector_.story()->ended, at(104));
}

TEST_F(Story, LeavesOutTheMiddleOfMany) {
  hear(0, accepted(1, "a"));
  for (std::uint32_t i = 1; i <= 100; ++i) hear(i, JobResized{JobId{1}, i, {0, 1U << (i % 3)}});
  EXPECT_THAT(text(), HasSubstr("60 more changes"));
  EXPECT_THAT(text(), HasSubstr("1m40s"));
}

TEST_F(Story, AsJsonHasEverything) {
  hear(0, accepted(1, "a"));
  hear(0, PromiseRefused{JobId{1}, std::nullopt}, {ReasonCode::too_slow_alone, 0});
  const auto text = story_json(*collector_.story(), context_);
  ASSERT_TRUE(text.has_value());
  const auto json = nlohmann::json::parse(*text).at("explain");
  EXPECT_EQ(json.at("answer"), "refused");
  EXPECT_EQ(json.at("reason").at("code"), "too_slow_alone");
  EXPECT_TRUE(json.at("earliest_s").is_null());
  EXPECT_EQ(json.at("asked").at("deadline_s"), 600);
  EXPECT_TRUE(json.at("plans").empty());
}

}  // namespace
}  // namespace weir::report
