// SPDX-License-Identifier: Apache-2.0
//
// Nodes fail and jobs do not run as their curves say: a promise may break, but never in silence. Whoever
// is late was told so before the deadline, with a time to expect instead.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>

#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "simulate/random_cases_testing.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

using testing::kModels;
using testing::up_to;

// A case that comes from one number. Nodes fail about once in the time a job takes.
struct FailingCase {
  Cluster cluster;
  CurveBook curves;
  TrainingWorkload workload;
  TrainingRunConfig config;
};

FailingCase a_failing_case(std::uint64_t seed) {
  SeededRng rng{seed};
  constexpr std::array kClusters = {"1x4xT4", "2x4xT4", "3x2xT4", "4x8xA100", "5x1xT4"};
  FailingCase made;
  made.cluster = *formats::parse_cluster_shorthand(
      kClusters[static_cast<std::size_t>(up_to(rng, kClusters.size()))]);
  for (std::int64_t model = 0; model < kModels; ++model) {
    std::vector<CurvePoint> points;
    std::int64_t rate = 1'000'000 + up_to(rng, 20'000'000);
    for (std::int32_t gpus = 1; gpus <= 8; gpus *= 2) {
      points.push_back({gpus, IterationRate{rate}});
      rate += up_to(rng, rate) - rate / 8;
    }
    made.curves.curves.emplace(CurveKey{"m", model}, Curve{std::move(points)});
  }
  for (std::int64_t i = 1 + up_to(rng, 25); i > 0; --i) {
    TrainingArrival arrival;
    arrival.submitted = Time{from_seconds(up_to(rng, 3000))};
    arrival.spec.name = "job";
    arrival.spec.curve = {"m", up_to(rng, kModels)};
    arrival.spec.iterations = 1 + up_to(rng, 50'000);
    arrival.spec.deadline_kind = up_to(rng, 4) == 0 ? DeadlineKind::soft : DeadlineKind::hard;
    arrival.spec.deadline = arrival.submitted + from_seconds(30 + up_to(rng, 10'000));
    made.workload.jobs.push_back(std::move(arrival));
  }
  made.config.planned_cost = {from_seconds(up_to(rng, 8)), from_seconds(up_to(rng, 4))};
  made.config.failures = {from_seconds(600 + up_to(rng, 20'000)),
                          from_seconds(1 + up_to(rng, 2000)), rng.next()};
  if (up_to(rng, 4) == 0) made.config.failures.mtbf = Duration{0};
  made.config.checkpoint_every = from_seconds(up_to(rng, 300));
  made.config.speeds = {700 + up_to(rng, 301), 1000 + up_to(rng, 100), rng.next()};
  made.config.training.reserve.permille = static_cast<std::int32_t>(up_to(rng, 3) * 100);
  return made;
}

struct Told {
  Time deadline;
  bool is_at_risk = false;
  Time announced;
};

// Plays it and looks at every promise when its job is done, or at the deadline if it is not.
void expect_no_silent_break(const FailingCase& made) {
  std::map<JobId, Told> promised;
  std::map<JobId, Time> over;
  TrainingRunConfig config = made.config;
  config.on_record = [&](const Record& record) {
    if (const auto* promise = std::get_if<PromiseMade>(&record.what))
      promised[promise->job] = {promise->deadline};
    if (const auto* risk = std::get_if<PromiseAtRisk>(&record.what)) {
      Told& told = promised.at(risk->job);
      // Announced again, with another time: the first counts.
      if (!told.is_at_risk) told.announced = record.at;
      told.is_at_risk = true;
      RC_ASSERT(risk->expected_finish > record.at);
    }
    if (const auto* revised = std::get_if<TimelineRevised>(&record.what)) {
      if (record.reason.code == ReasonCode::back_on_plan)
        promised.at(revised->job).is_at_risk = false;
    }
    if (const auto* released = std::get_if<JobReleased>(&record.what))
      over[released->job] = record.at;
  };
  run_training(made.cluster, made.workload, {made.curves}, config);
  for (const auto& [job, told] : promised) {
    const auto ended = over.find(job);
    if (ended != over.end() && ended->second <= told.deadline) continue;
    RC_ASSERT(told.is_at_risk);
    RC_ASSERT(told.announced < told.deadline);
  }
}

TEST(AnnouncedPromises, NobodyIsLateWithoutHavingBeenToldBeforeTheDeadline) {
  EXPECT_TRUE(rc::check("announced", [] {
    expect_no_silent_break(a_failing_case(*rc::gen::arbitrary<std::uint64_t>()));
  }));
}

// --- one thing at a time: one GPU, 10 iterations a second, a start costs nothing ---

struct Seen {
  std::optional<Time> announced;
  std::optional<Time> expected;
  std::optional<Time> finished;
};

Seen play_one(std::int64_t iterations, std::int64_t deadline, TrainingRunConfig config,
              const char* cluster = "1x1xT4") {
  CurveBook book;
  book.curves[{"m", 1}] = Curve{{{1, IterationRate{10'000'000}}}};
  TrainingArrival arrival;
  arrival.spec.name = "job";
  arrival.spec.curve = {"m", 1};
  arrival.spec.iterations = iterations;
  arrival.spec.deadline_kind = DeadlineKind::hard;
  arrival.spec.deadline = Time{from_seconds(deadline)};
  if (!config.planned_cost) config.planned_cost = schedule::RescaleCost{Duration{0}, Duration{0}};
  Seen seen;
  config.on_record = [&](const Record& record) {
    if (const auto* risk = std::get_if<PromiseAtRisk>(&record.what)) {
      if (!seen.announced) seen.announced = record.at;
      seen.expected = risk->expected_finish;
    }
  };
  const auto outcome =
      run_training(*formats::parse_cluster_shorthand(cluster), {"one", {arrival}}, {book}, config);
  seen.finished = outcome.by_job[0].finished;
  return seen;
}

TEST(AnnouncedPromises, ALostNodeIsToldInTheSameInstant) {
  TrainingRunConfig config;
  config.outages = {{0, Time{from_seconds(100)}, Time{from_seconds(300)}}};
  const Seen seen = play_one(5000, 600, config);
  EXPECT_EQ(seen.announced, Time{from_seconds(100)});
  EXPECT_EQ(seen.finished, Time{from_seconds(700)});
}

TEST(AnnouncedPromises, WorkLostWithANodeIsToldInTheSameInstant) {
  TrainingRunConfig config;
  config.checkpoint_every = from_seconds(1000);
  config.outages = {{0, Time{from_seconds(100)}, Time{from_seconds(300)}}};
  const Seen seen = play_one(4500, 500, config, "2x1xT4");  // 50 s to spare, 100 s are lost
  EXPECT_EQ(seen.announced, Time{from_seconds(100)});
  EXPECT_EQ(seen.expected, Time{from_seconds(550)});
  EXPECT_EQ(seen.finished, Time{from_seconds(550)});
}

TEST(AnnouncedPromises, AFewPerMilleAreToldToo) {
  TrainingRunConfig config;
  config.speeds = {998, 998};
  const Seen seen = play_one(5000, 500, config);
  ASSERT_TRUE(seen.announced);
  EXPECT_LT(*seen.announced, Time{from_seconds(300)});
  EXPECT_GT(*seen.finished, Time{from_seconds(501)});
}

TEST(AnnouncedPromises, RanksThatTakeLongerThanPlannedAreToldWhenTheyAreReady) {
  TrainingRunConfig config;
  config.planned_cost = schedule::RescaleCost{Duration{0}, Duration{0}};
  config.real_cost = schedule::RescaleCost{from_seconds(30), Duration{0}};
  const Seen seen = play_one(5000, 510, config);
  EXPECT_EQ(seen.announced, Time{from_seconds(30)});
  EXPECT_EQ(seen.finished, Time{from_seconds(530)});
}

}  // namespace
}  // namespace weir::simulate
