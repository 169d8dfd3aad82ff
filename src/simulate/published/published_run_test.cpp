// SPDX-License-Identifier: Apache-2.0
//
// The quirks of the public simulator, each by a small case. Times are seconds.
#include "simulate/published/published_run.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "simulate/published/elasticflow_plan.h"
#include "simulate/published/event_list.h"

namespace weir::simulate::published {
namespace {

// Twice the GPUs, less than twice the speed; slower again on 8.
const RateBook kRates{{{"vgg16", 64}, {{1, 1.0}, {2, 1.9}, {4, 3.0}, {8, 2.0}}}};

struct JobSketch {
  Seconds submitted = 0;
  Seconds duration = 100;  // on the GPUs asked for
  Seconds deadline = 1000;
  std::int32_t asked = 1;
};

TrainingWorkload a_workload(const std::vector<JobSketch>& sketches) {
  TrainingWorkload workload;
  for (const JobSketch& sketch : sketches) {
    TrainingArrival job;
    job.submitted = Time{from_seconds(sketch.submitted)};
    job.stated_duration = from_seconds(sketch.duration);
    job.spec.curve = {"vgg16", 64};
    job.spec.asked_gpus = sketch.asked;
    job.spec.deadline_kind = DeadlineKind::hard;
    job.spec.deadline = Time{from_seconds(sketch.deadline)};
    double rate = 0;
    for (const formats::ExactRate& option : kRates.begin()->second)
      if (option.gpus == sketch.asked) rate = option.rate;
    job.spec.iterations = static_cast<std::int64_t>(static_cast<double>(sketch.duration) * rate);
    workload.jobs.push_back(job);
  }
  return workload;
}

PublishedOutcome play(std::string_view policy, const std::vector<JobSketch>& jobs,
                      std::int32_t nodes = 1, std::int32_t per_node = 8, Seconds slot = 60) {
  return run_as_published(policy, a_workload(jobs), kRates, {nodes, per_node, slot, false});
}

TEST(Published, OverheadIsLessForRanksThatWereTogetherAndMoreAfterARestart) {
  const OverheadRule small{128};
  EXPECT_EQ(small.of(1, false, true), 2);
  EXPECT_EQ(small.of(1, false, false), 4);
  EXPECT_EQ(small.of(8, false, false), 10);
  EXPECT_EQ(small.of(8, true, false), 37);
  EXPECT_EQ(small.of(8, true, true), 2);
  const OverheadRule large{256};
  EXPECT_EQ(large.of(8, false, true), 7);
  EXPECT_EQ(large.of(8, true, false), 62);
}

TEST(Published, EventsWithinASlotAreHandledTogetherAtItsEnd) {
  std::vector<PublishedJob> jobs(4);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].submitted = static_cast<Seconds>(i) * 25;
  EventList events{jobs};
  const Moment first = events.take_first();
  events.coalesce(first.time, 60);
  EXPECT_EQ(events.first().time, 60);
  EXPECT_EQ(events.first().come, (std::vector<JobIndex>{1, 2}));
  EXPECT_EQ(events.size(), 2U);
}

TEST(Published, TheLastEventIsNotPutOff) {
  std::vector<PublishedJob> jobs(2);
  jobs[1].submitted = 5;
  EventList events{jobs};
  events.take_first();
  events.coalesce(0, 60);
  EXPECT_EQ(events.first().time, 5);
}

TEST(PublishedEdf, TakesGpusThatMakeAJobSlower) {
  // 300 iterations: 150 s at 8 GPUs, 100 s at 4.
  const auto alone = play("edf", {{0, 300, 1000, 1}});
  EXPECT_EQ(alone.ended[0], 150);
}

TEST(PublishedEdf, PaysNothingForChanges) {
  // The second has the earlier deadline, takes all GPUs, and the first goes on after it.
  const auto two = play("edf", {{0, 600, 5000, 1}, {100, 200, 1000, 1}});
  EXPECT_EQ(two.ended[1], 200);
  EXPECT_EQ(two.ended[0], 400);
}

TEST(PublishedElasticFlow, RefusesAllArrivalsOfASlotForTheSakeOfOne) {
  const JobSketch easy{70, 100, 5000, 1};
  const JobSketch impossible{80, 10'000, 81, 1};
  const JobSketch before{0, 1000, 9000, 1};
  const JobSketch later{90'000, 10, 99'000, 1};
  EXPECT_EQ(play("elasticflow", {before, easy, later}).refused, 0);
  // Both come within one slot after the first event.
  EXPECT_EQ(play("elasticflow", {before,
                                 {easy.submitted - 20, 100, 5000, 1},
                                 {impossible.submitted - 25, 10'000, 81, 1},
                                 later})
                .refused,
            2);
}

TEST(PublishedElasticFlow, ComparesTheDeadlineWithAnEndThatLeavesOutTheLastOverhead) {
  // 300 iterations on 4 GPUs take 100 s; starting costs 8 s, and still it counts as on time.
  const auto tight = play("elasticflow", {{0, 300, 100, 1}});
  EXPECT_EQ(tight.met, 1);
  EXPECT_EQ(tight.ended[0], 100);
}

TEST(PublishedTiresias, DemotesByGpuTime) {
  // The wide job uses up the first queue's 3250 GPU-seconds; then the late narrow ones come first.
  const auto outcome = play("tiresias", {{0, 2000, 9000, 8}, {500, 600, 9000, 8}});
  EXPECT_GT(*outcome.ended[0], *outcome.ended[1]);
  EXPECT_LT(*outcome.ended[1], 1300);
}

TEST(PublishedGandiva, TwoJobsForAllGpusTakeTurns) {
  std::vector<JobSketch> jobs{{0, 600, 90'000, 8}, {0, 600, 90'000, 8}};
  const auto outcome = play("gandiva", jobs, 1, 8, 60);
  // One after the other would be 600 and 1200.
  EXPECT_GT(*outcome.ended[0], 1000);
  EXPECT_GT(*outcome.ended[1], 1000);
}

TEST(PublishedThemis, ServesWhoeverIsFurthestBehindItsFairShare) {
  const auto outcome = play("themis", {{0, 1200, 90'000, 8}, {600, 1200, 90'000, 8}});
  EXPECT_EQ(outcome.completed, 2);
  EXPECT_GT(*outcome.ended[0], 1200);  // it gave way
}

// Whatever the plan, no GPU is used twice and the job gets only sizes it may have.
RC_GTEST_PROP(PublishedPlan, NeverTakesMoreThanIsFree, ()) {
  const Seconds slot = *rc::gen::element<Seconds>(60, 240);
  Steps free{{0, 16}};
  for (int i = 0; i < 6; ++i) {
    PublishedJob job;
    job.rates = &kRates.begin()->second;
    job.most = *rc::gen::element(1, 2, 4);
    job.deadline = *rc::gen::inRange<Seconds>(1, 4000);
    job.left = *rc::gen::inRange(1, 6000);
    const ElasticPlan plan = plan_elastically({&job, 0, slot, 16, {}}, free);
    for (const auto& [time, gpus] : plan.gpus)
      RC_ASSERT(gpus == 0 || (job.rate_at(gpus) > 0 && gpus <= job.most));
    for (const auto& [time, left] : plan.free_after) {
      RC_ASSERT(left >= 0 && left <= 16);
      RC_ASSERT((time % slot) == 0);
    }
    RC_ASSERT(plan.end >= plan.real_end);
    free = plan.free_after;
  }
}

RC_GTEST_PROP(Published, EveryJobEndsOrIsRefusedAndIsCountedOnce, ()) {
  std::vector<JobSketch> jobs;
  Seconds now = 0;
  const auto count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    now += *rc::gen::inRange<Seconds>(0, 400);
    const Seconds duration = *rc::gen::inRange<Seconds>(30, 3000);
    jobs.push_back({now, duration, now + duration / 2 + *rc::gen::inRange<Seconds>(1, 3000),
                    *rc::gen::element(1, 2, 4)});
  }
  for (const PublishedPolicyRow& policy : published_policies()) {
    const auto outcome = play(policy.name, jobs, 2, 4);
    RC_ASSERT(outcome.completed + outcome.refused == static_cast<std::int64_t>(jobs.size()));
    RC_ASSERT(outcome.met <= outcome.completed);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      RC_ASSERT(outcome.ended[i].value_or(kNever) > jobs[i].submitted);
  }
}

}  // namespace
}  // namespace weir::simulate::published
