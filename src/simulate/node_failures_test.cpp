// SPDX-License-Identifier: Apache-2.0
#include "simulate/node_failures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "formats/cluster_shorthand.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

constexpr Duration kDay = std::chrono::hours{24};
const NodeFailures kUsual{30 * kDay, std::chrono::hours{1}, 7};

std::vector<FailureClock::Change> changes_until(FailureClock clock, Time end) {
  std::vector<FailureClock::Change> changes;
  while (clock.next_at() < end) changes.push_back(clock.take_next());
  return changes;
}

TEST(NodeFailures, ComeAsOftenAsTheMeanSays) {
  // 100 nodes for 3000 days: 100 failures of each, so 10,000 in all; their standard deviation is 100.
  const auto changes = changes_until(FailureClock{kUsual, 100, Time{}}, Time{3000 * kDay});
  double failures = 0;
  for (const auto& change : changes) failures += change.is_failure ? 1 : 0;
  EXPECT_NEAR(failures, 10'000, 400);
}

// Of an exponential distribution 1 - 1/e lie below the mean, and the standard deviation is the mean.
TEST(NodeFailures, AreExponential) {
  std::vector<Time> up_since(100);
  double below = 0;
  double squares = 0;
  double count = 0;
  for (const auto& change : changes_until(FailureClock{kUsual, 100, Time{}}, Time{3000 * kDay})) {
    if (!change.is_failure) {
      up_since[change.node] = change.at;
      continue;
    }
    const double times_the_mean =
        to_seconds(change.at - up_since[change.node]) / to_seconds(30 * kDay);
    ++count;
    below += times_the_mean < 1 ? 1 : 0;
    squares += (times_the_mean - 1) * (times_the_mean - 1);
  }
  EXPECT_NEAR(below / count, 1 - std::exp(-1), 0.02);
  EXPECT_NEAR(squares / count, 1, 0.1);
}

TEST(NodeFailures, EveryNodeIsBackAfterTheRepair) {
  std::vector<Time> failed(20);
  FailureClock clock{kUsual, 20, Time{}};
  std::size_t down = 0;
  for (int i = 0; i < 500; ++i) {
    const auto change = clock.take_next();
    if (change.is_failure) {
      failed[change.node] = change.at;
      ++down;
    } else {
      EXPECT_EQ(change.at - failed[change.node], std::chrono::hours{1});
      --down;
    }
    EXPECT_EQ(clock.down(), down);
  }
}

TEST(NodeFailures, AreTheSameForTheSameSeedAndOthersForAnother) {
  const auto changes = changes_until(FailureClock{kUsual, 50, Time{}}, Time{100 * kDay});
  EXPECT_EQ(changes, changes_until(FailureClock{kUsual, 50, Time{}}, Time{100 * kDay}));
  NodeFailures other = kUsual;
  other.seed = 8;
  EXPECT_NE(changes, changes_until(FailureClock{other, 50, Time{}}, Time{100 * kDay}));
}

TEST(NodeFailures, OfANodeDoNotDependOnTheOthers) {
  std::vector<FailureClock::Change> of_three;
  for (const auto& change : changes_until(FailureClock{kUsual, 50, Time{}}, Time{1000 * kDay})) {
    if (change.node < 3) of_three.push_back(change);
  }
  EXPECT_EQ(of_three, changes_until(FailureClock{kUsual, 3, Time{}}, Time{1000 * kDay}));
}

TEST(NodeFailures, WithoutAMeanThereAreNone) {
  EXPECT_EQ((FailureClock{NodeFailures{}, 50, Time{}}.next_at()), Time::max());
}

// --- in a run ---

constexpr Duration kMinute = std::chrono::minutes{1};

// One job of a thousand minutes on the only node, which fails about every two hours.
TrainingRunConfig often() {
  TrainingRunConfig config;
  config.planned_cost = schedule::RescaleCost{Duration{0}, Duration{0}};
  config.failures = {120 * kMinute, 30 * kMinute, 3};
  return config;
}

TrainingOutcome play(const TrainingRunConfig& config) {
  CurveBook book;
  book.curves[{"m", 1}] = Curve{{{1, IterationRate{1'000'000}}}};
  TrainingWorkload workload{"one", {{Time{}, {"job", {"m", 1}, 60'000}}}};
  return run_training(*formats::parse_cluster_shorthand("1x1xT4"), workload, {book}, config);
}

std::vector<std::pair<Time, bool>> closings(TrainingRunConfig config) {
  std::vector<std::pair<Time, bool>> seen;
  config.on_record = [&](const Record& record) {
    if (std::holds_alternative<PoolNodeClosed>(record.what)) seen.emplace_back(record.at, true);
    if (std::holds_alternative<PoolNodeOpened>(record.what)) seen.emplace_back(record.at, false);
  };
  play(config);
  return seen;
}

TEST(NodeFailures, CostAJobTheRepairAndNothingElseWhereItSavesAllItDoes) {
  const TrainingOutcome outcome = play(often());
  ASSERT_TRUE(outcome.by_job[0].finished);
  EXPECT_GE(outcome.nodes_lost, 3);
  EXPECT_EQ(*outcome.by_job[0].finished, Time{1000 * kMinute + outcome.nodes_lost * 30 * kMinute});
}

TEST(NodeFailures, CostAJobWhatItDidSinceItLastSaved) {
  TrainingRunConfig config = often();
  config.checkpoint_every = 20 * kMinute;
  const auto times = closings(config);
  const TrainingOutcome outcome = play(config);
  Duration lost{0};
  Time since;
  for (const auto& [at, is_closed] : times) {
    if (!is_closed) {
      since = at;
    } else if (at < *outcome.by_job[0].finished) {
      lost += 30 * kMinute + (at - since) % config.checkpoint_every;
    }
  }
  EXPECT_GT(lost, 90 * kMinute);
  EXPECT_EQ(*outcome.by_job[0].finished, Time{1000 * kMinute + lost});
}

TEST(NodeFailures, AreTheSameUnderEveryPolicy) {
  TrainingRunConfig config = often();
  const auto weir = closings(config);
  config.policy = "gandiva";
  EXPECT_EQ(closings(config), weir);
}

TEST(NodeFailures, DoNotKeepARunGoingThatNobodyIsServedIn) {
  TrainingRunConfig config = often();
  CurveBook book;
  TrainingWorkload workload{"none", {{Time{}, {"job", {"unknown", 1}, 60'000}}}};
  const auto outcome =
      run_training(*formats::parse_cluster_shorthand("1x1xT4"), workload, {book}, config);
  EXPECT_EQ(outcome.finished, 0);
}

}  // namespace
}  // namespace weir::simulate
