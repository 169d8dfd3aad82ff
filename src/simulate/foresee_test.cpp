// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler foresees is what then happens, when jobs run as their curves say.
#include "schedule/foresee/foresee.h"

#include <gtest/gtest.h>

#include <iterator>
#include <string>

#include "domain/seeded_rng.h"
#include "formats/cluster_shorthand.h"
#include "schedule/foresee/counterfactuals.h"
#include "simulate/played_history_testing.h"

namespace weir::simulate {
namespace {

using schedule::Forecast;
using schedule::ForeseenAnswer;
using schedule::ForeseenJob;
using testing::PlayedHistory;

CurveBook foreseen_curves() {
  const auto curve = [](std::initializer_list<std::pair<std::int32_t, std::int64_t>> points) {
    std::vector<CurvePoint> made;
    for (const auto& [gpus, rate] : points) made.push_back({gpus, IterationRate{rate * 1'000'000}});
    return Curve{std::move(made)};
  };
  return {"",
          {{{"linear", 1}, curve({{1, 10}, {2, 19}, {4, 36}, {8, 60}, {16, 100}})},
           {{"knee", 1}, curve({{1, 30}, {2, 40}, {4, 42}, {8, 41}})},
           {{"large", 1}, curve({{4, 20}, {8, 33}})}}};
}

TrainingSpec any_spec(SeededRng& rng, Time now, int number) {
  constexpr const char* kModelNames[] = {"linear", "knee", "large"};
  TrainingSpec spec;
  spec.name = "job-" + std::to_string(number);
  spec.curve = {kModelNames[rng.below(3)], 1};
  spec.iterations = 1000 + static_cast<std::int64_t>(rng.below(60'000));
  spec.asked_gpus = spec.curve.model == std::string{"large"} ? 4 : 1 << rng.below(3);
  spec.is_rigid = rng.below(3) == 0;
  spec.in_one_piece = spec.is_rigid && rng.below(2) == 0;
  const auto kind = rng.below(3);
  if (kind > 0) {
    spec.deadline_kind = kind == 1 ? DeadlineKind::hard : DeadlineKind::soft;
    spec.deadline = now + from_seconds(200 + static_cast<std::int64_t>(rng.below(6000)));
  }
  return spec;
}

std::unique_ptr<PlayedHistory> any_history(std::uint64_t seed, const char* policy) {
  SeededRng rng{seed};
  constexpr const char* kClusters[] = {"1x4xT4", "2x4xT4", "3x8xT4", "1x2xT4"};
  auto history = std::make_unique<PlayedHistory>(
      policy, formats::parse_cluster_shorthand(kClusters[rng.below(4)]).value(), foreseen_curves(),
      from_seconds(static_cast<std::int64_t>(rng.below(8))));
  for (int i = 0; i < 12; ++i) {
    history->play_until(history->now() + from_seconds(static_cast<std::int64_t>(rng.below(400))));
    history->submit(any_spec(rng, history->now(), i));
    history->decide();
  }
  history->play_until(history->now() + from_seconds(static_cast<std::int64_t>(rng.below(100))));
  return history;
}

TEST(Foresee, WhatIsForeseenHappens) {
  constexpr const char* kPolicies[] = {"weir", "edf-admission", "fifo", "elasticflow", "srtf"};
  std::int64_t compared = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto history = any_history(seed, kPolicies[seed % std::size(kPolicies)]);
    const Time now = history->now();
    const Forecast forecast =
        schedule::foresee(history->core().fork_state(), history->config(), now, {});
    ASSERT_TRUE(forecast.is_complete);
    history->decide();
    history->play_to_the_end();
    for (const ForeseenJob& job : forecast.jobs) {
      const auto& seen = history->seen(job.job);
      ASSERT_EQ(job.finished, seen.finished) << "seed " << seed << " job " << job.job.value;
      ASSERT_EQ(job.started, seen.has_gpus(now)) << "seed " << seed << " job " << job.job.value;
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
}

TEST(Foresee, TheSameQuestionHasTheSameAnswer) {
  const auto history = any_history(7, "weir");
  const auto ask = [&] {
    schedule::ForeseeLimits limits;
    limits.keeps_records = true;
    return schedule::foresee(history->core().fork_state(), history->config(), history->now(), {},
                             limits);
  };
  EXPECT_EQ(ask().records, ask().records);
}

// Does for real what was supposed, on a copy of the history: the larger cluster is one from the
// beginning, with nodes that come up now. Returns the job to look at.
JobId do_it(PlayedHistory& history, const std::vector<NodeId>& joining,
            const schedule::Supposition& what, JobId job) {
  for (const NodeId node : joining) history.tell(NodeReturned{node});
  for (const JobId other : what.cancelled) history.tell(JobCancelled{other});
  for (const schedule::SupposedJob& again : what.submitted) job = history.submit(again.spec);
  history.decide();
  // Not to the end: a job that fits nowhere any more would keep some policies awake for ever.
  history.play_until(history.now() + std::chrono::hours{20});
  return job;
}

void expect_true(const PlayedHistory& before, JobId job, const schedule::Counterfactual& told) {
  Cluster cluster = before.cluster();
  std::vector<NodeId> joining;
  std::uint64_t next = 1000;
  for (const schedule::MoreNodes& more : told.supposition.more_nodes) {
    for (std::int32_t i = 0; i < more.nodes; ++i) {
      Node node = cluster.nodes.front();
      node.id = NodeId{next++};
      node.gpu_count = more.gpus_each;
      joining.push_back(node.id);
      cluster.nodes.push_back(node);
    }
  }
  const auto after = before.split(cluster, joining);
  const auto& seen = after->seen(do_it(*after, joining, told.supposition, job));
  switch (told.wish) {
    case schedule::Wish::start:
      EXPECT_EQ(seen.has_gpus(before.now()), told.at);
      break;
    case schedule::Wish::promise:
      EXPECT_TRUE(seen.is_promised);
      EXPECT_TRUE(seen.finished && *seen.finished <= seen.spec->deadline);
      break;
    case schedule::Wish::in_time:
      EXPECT_EQ(seen.finished, told.at);
      EXPECT_LE(told.at, seen.spec->deadline);
      break;
  }
}

// Of cases in which something is told, 200; every line of each is replayed.
TEST(Counterfactuals, EveryOneThatIsToldIsTrueWhenReplayed) {
  constexpr const char* kPolicies[] = {"weir", "weir", "edf-admission", "fifo", "elasticflow"};
  std::map<schedule::Counterfactual::Change, int> lines;
  std::map<schedule::Wish, int> wishes;
  int cases = 0;
  for (std::uint64_t seed = 1; cases < 200 && seed < 5000; ++seed) {
    const auto history = any_history(seed, kPolicies[seed % std::size(kPolicies)]);
    // Sometimes a node has just been lost: promises are at risk.
    if (seed % 4 == 0 && history->cluster().nodes.size() > 1) {
      history->tell(NodeLost{history->cluster().nodes.front().id});
      history->decide();
    }
    SeededRng rng{seed};
    const JobId job{1 + rng.below(history->seen().size())};
    schedule::Asked asked{job, {}};
    if (history->seen(job).is_refused) asked.again = {*history->seen(job).spec, {}};
    schedule::State state = history->core().fork_state();
    const auto told = schedule::counterfactuals(state, history->config(), history->now(), asked);
    if (told.empty()) continue;
    ++cases;
    EXPECT_LE(told.size(), 5U);
    for (const schedule::Counterfactual& line : told) {
      ++lines[line.change];
      ++wishes[line.wish];
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", job " << job.value << ", change "
                                        << static_cast<int>(line.change));
      expect_true(*history, job, line);
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(cases, 200);
  EXPECT_EQ(lines.size(), 5U);  // every kind
  EXPECT_EQ(wishes.size(), 3U);
}

}  // namespace
}  // namespace weir::simulate
