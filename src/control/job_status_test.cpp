// SPDX-License-Identifier: Apache-2.0
#include "control/job_status.h"

#include <gmock/gmock.h>

#include <cmath>
#include <memory>

namespace weir::control {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Time kStart{hours{490'000}};

class OneNode final : public StatusContext {
 public:
  Time to_wall(Time time) const override { return time + hours{1}; }
  std::vector<std::string> nodes_of(PoolIndex, GpuBlock block) const override {
    if (block.is_none()) return {};
    return {"here"};
  }
};

class FollowedJob : public ::testing::Test {
 protected:
  FollowedJob() {
    auto spec = std::make_shared<TrainingSpec>();
    spec->name = "bert";
    spec->iterations = 100;
    spec->deadline_kind = DeadlineKind::hard;
    spec->deadline = kStart + hours{2};
    status.iterations = 100;
    tell(TrainingAccepted{JobId{7}, spec, PoolIndex{0}, 0}, ReasonCode::as_reported);
  }
  template <class What>
  void tell(What what, ReasonCode code, Duration after = Duration{0}) {
    follow(status, Record{kStart + after, {code, 0}, what}, PoolIndex{0}, context);
  }
  void promise() {
    tell(PromiseMade{JobId{7}, kStart + hours{2},
                     Timeline{{{kStart, kNoGpus}, {kStart + seconds{10}, {0, 2}}},
                              kStart + hours{1}}},
         ReasonCode::fits_beside_promises);
  }

  OneNode context;
  JobStatus status;
};

TEST_F(FollowedJob, IsQueuedUntilItHasGpus) {
  promise();
  EXPECT_EQ(status.phase, ShownPhase::queued);
  EXPECT_TRUE(status.is_promised);
  EXPECT_EQ(status.deadline, kStart + hours{3}) << "on the wall clock";
  EXPECT_EQ(status.expected_start, kStart + hours{1} + seconds{10});
  EXPECT_EQ(status.expected_finish, kStart + hours{2});
  tell(JobResized{JobId{7}, 1, {0, 2}}, ReasonCode::as_promised, seconds{10});
  EXPECT_EQ(status.phase, ShownPhase::running);
  EXPECT_EQ(status.gpus, 2);
  EXPECT_THAT(status.nodes, ElementsAre("here"));
  tell(JobResized{JobId{7}, 2, kNoGpus}, ReasonCode::reclaimed, seconds{20});
  EXPECT_EQ(status.phase, ShownPhase::paused);
  EXPECT_EQ(status.started, kStart + hours{1} + seconds{10});
}

TEST_F(FollowedJob, ItsEndSaysWhetherTheDeadlineWasMet) {
  promise();
  tell(JobResized{JobId{7}, 1, {0, 2}}, ReasonCode::as_promised);
  tell(JobReleased{JobId{7}}, ReasonCode::as_reported, hours{1});
  EXPECT_EQ(status.phase, ShownPhase::finished);
  EXPECT_EQ(status.done, 100);
  EXPECT_THAT(to_json(status), HasSubstr("\"met_deadline\":true"));
  tell(JobReleased{JobId{7}}, ReasonCode::as_reported, hours{3});
  EXPECT_THAT(to_json(status), HasSubstr("\"met_deadline\":false"));
}

TEST_F(FollowedJob, ARefusalNamesTheEarliestDeadline) {
  tell(PromiseRefused{JobId{7}, kStart + hours{5}}, ReasonCode::no_room);
  EXPECT_EQ(status.phase, ShownPhase::refused);
  EXPECT_EQ(status.earliest_deadline, kStart + hours{6});
  EXPECT_THAT(to_json(status), Not(HasSubstr("expected_finish")));
}

TEST_F(FollowedJob, AtRiskIsShownUntilItIsBackOnPlan) {
  promise();
  tell(PromiseAtRisk{JobId{7}, Time::max()}, ReasonCode::behind_plan);
  EXPECT_TRUE(status.is_at_risk);
  EXPECT_EQ(status.expected_finish, std::nullopt);
  tell(TimelineRevised{JobId{7}, Timeline{{{kStart, {0, 1}}}, kStart + hours{1}}},
       ReasonCode::back_on_plan);
  EXPECT_FALSE(status.is_at_risk);
}

TEST_F(FollowedJob, EndsOtherThanWellAreToldApart) {
  tell(JobReleased{JobId{7}}, ReasonCode::cancelled);
  EXPECT_EQ(status.phase, ShownPhase::cancelled);
  tell(JobReleased{JobId{7}}, ReasonCode::failed);
  EXPECT_EQ(status.phase, ShownPhase::failed);
}

TEST_F(FollowedJob, ReadsBackAsItWasWritten) {
  promise();
  EXPECT_EQ(read_job_status(to_json(status)).value(), status);
  tell(JobResized{JobId{7}, 3, {0, 2}}, ReasonCode::as_promised, seconds{3});
  tell(JobObserved{JobId{7}, work_of_iterations(40), kStart, 873}, ReasonCode::as_reported);
  status.restarts = 2;
  status.resumes = 3;
  status.rate = IterationRate{10'200'001};
  status.loss = 0.1 + 0.2;
  status.curve =
      ShownCurve{"measured", {{1, IterationRate{10'200'000}}, {16, IterationRate{1}}}, {1}};
  status.last_change = ChangeTimes{from_seconds(1), Duration{1}, {}, {}, Duration{123'456'789}};
  status.last_change->is_warm = true;
  status.losses = 1;
  status.exit = "killed by \"SIGSEGV\"\n";
  EXPECT_EQ(status.done, 60);
  EXPECT_EQ(read_job_status(to_json(status)).value(), status);
  tell(JobReleased{JobId{7}}, ReasonCode::failed, hours{1});
  EXPECT_EQ(read_job_status(to_json(status)).value(), status);
}

TEST_F(FollowedJob, AWaitingJobSaysWhatToWrite) {
  status.phase = ShownPhase::waiting;
  EXPECT_THAT(to_json(status), HasSubstr("state its throughput"));
  EXPECT_THAT(to_json(status), HasSubstr("profile: true"));
  status.is_being_profiled = true;
  EXPECT_THAT(to_json(status), HasSubstr("it is measured first"));
  EXPECT_EQ(read_job_status(to_json(status)).value().is_being_profiled, true);
}

TEST_F(FollowedJob, ALossThatIsNoNumberIsNotShown) {
  status.loss = std::nan("");
  EXPECT_THAT(to_json(status), Not(HasSubstr("loss")));
}

TEST(PromiseCounts, SayWhatBecameOfPromises) {
  const auto counted = [](ShownPhase phase, bool is_promised, Duration after_deadline) {
    JobStatus status;
    status.phase = phase;
    status.is_promised = is_promised;
    status.deadline_kind = DeadlineKind::hard;
    status.deadline = kStart;
    status.ended = kStart + after_deadline;
    PromiseCounts counts;
    count_promise(counts, status);
    return counts;
  };
  const PromiseCounts kept{1, 0, 0};
  const PromiseCounts broken{0, 1, 0};
  const PromiseCounts refused{0, 0, 1};
  EXPECT_EQ(counted(ShownPhase::finished, true, seconds{0}), kept);
  EXPECT_EQ(counted(ShownPhase::finished, true, Duration{1}), broken);
  EXPECT_EQ(counted(ShownPhase::failed, true, seconds{-1}), PromiseCounts{});
  EXPECT_EQ(counted(ShownPhase::failed, true, seconds{1}), broken);
  EXPECT_EQ(counted(ShownPhase::cancelled, true, seconds{-1}), PromiseCounts{});
  EXPECT_EQ(counted(ShownPhase::cancelled, true, seconds{1}), broken);
  EXPECT_EQ(counted(ShownPhase::finished, false, seconds{-1}), PromiseCounts{});
  EXPECT_EQ(counted(ShownPhase::finished, false, seconds{1}), PromiseCounts{});
  EXPECT_EQ(counted(ShownPhase::refused, false, seconds{-1}), refused);
}

TEST(JobStatus, BrokenTextIsAnError) {
  EXPECT_FALSE(read_job_status("{\"id\":").has_value());
  EXPECT_FALSE(read_job_status("{\"id\":\"x\"}").has_value());
}

TEST(JobStatus, RecordsAboutPoolsAreAboutNoJob) {
  EXPECT_EQ(job_of(Record{{}, {}, PoolNodeClosed{}}), std::nullopt);
  EXPECT_EQ(job_of(Record{{}, {}, JobReleased{JobId{4}}}), JobId{4});
}

}  // namespace
}  // namespace weir::control
