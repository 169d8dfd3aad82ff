// SPDX-License-Identifier: Apache-2.0
#include "simulate/training_sweep.h"

#include <gtest/gtest.h>

#include "formats/cluster_shorthand.h"

namespace weir::simulate {
namespace {

const CurveKey kKey{"m", 32};

std::vector<CurveBook> some_curves() {
  CurveBook book;
  book.curves.emplace(kKey, Curve{{{1, IterationRate{1'000'000}}, {2, IterationRate{1'800'000}}}});
  return {book};
}

// Jobs of 1000 s on one GPU, all at once, with time for that and a little more.
TrainingWorkload jobs(std::string name, int count) {
  TrainingWorkload workload{std::move(name), {}};
  for (int i = 0; i < count; ++i) {
    TrainingSpec spec;
    spec.name = "j" + std::to_string(i);
    spec.curve = kKey;
    spec.iterations = 1000;
    spec.deadline_kind = DeadlineKind::hard;
    spec.deadline = Time{from_seconds(1200)};
    workload.jobs.push_back({Time{}, spec});
  }
  return workload;
}

std::vector<TrainingSweepRun> sweep(TrainingSweepConfig config) {
  NoProgress progress;
  return sweep_training(*formats::parse_cluster_shorthand("2x2xT4"), {jobs("a", 3), jobs("b", 9)},
                        some_curves(), config, progress);
}

TEST(TrainingSweep, ComesBackByWorkloadThenPolicy) {
  const auto runs = sweep({.policies = {"weir", "fifo"}, .threads = 2});
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0].workload, "a");
  EXPECT_EQ(runs[1].outcome.policy, "fifo");
  EXPECT_EQ(runs[2].workload, "b");
  EXPECT_EQ(runs[2].gpus, 4);
  EXPECT_EQ(runs[0].outcome.met, 3);
  EXPECT_EQ(runs[2].outcome.missed_after_admission, 0);
  EXPECT_EQ(runs[2].outcome.admitted, 4) << "four GPUs, and no time for a second round";
}

TEST(TrainingSweep, GivesTheSameOnAnyNumberOfThreads) {
  const auto one = sweep({.policies = {"weir", "elasticflow", "edf"}, .threads = 1});
  const auto three = sweep({.policies = {"weir", "elasticflow", "edf"}, .threads = 3});
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].outcome.met, three[i].outcome.met);
    EXPECT_EQ(one[i].outcome.total_completion_seconds, three[i].outcome.total_completion_seconds);
    EXPECT_EQ(one[i].outcome.rescales, three[i].outcome.rescales);
  }
}

TEST(TrainingSweep, PlaysEachCombinationWithEachSeed) {
  TrainingSweepConfig config{.policies = {"weir", "edf"}, .seeds = {7, 8, 9}, .threads = 2};
  config.speeds = {500, 1000};
  const auto runs = sweep(config);
  ASSERT_EQ(runs.size(), 12U);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SweepPlace place = place_of(config, i);
    EXPECT_EQ(runs[i].workload, place.workload == 0 ? "a" : "b");
    EXPECT_EQ(runs[i].outcome.policy, config.policies[place.policy]);
    EXPECT_EQ(runs[i].seed, place.seed);
    TrainingSweepConfig alone = config;
    alone.policies = {runs[i].outcome.policy};
    alone.seeds = {};
    alone.speeds.seed = alone.training.seed = *place.seed;
    const auto same = sweep(alone)[place.workload];
    EXPECT_FALSE(same.seed);
    EXPECT_EQ(same.outcome.total_completion_seconds, runs[i].outcome.total_completion_seconds);
  }
  EXPECT_NE(runs[0].outcome.total_completion_seconds, runs[1].outcome.total_completion_seconds);
}

// There is time for the job if a start is free, and not if it costs 4 s.
TEST(TrainingSweep, WithoutOverheadInPlansThePriceIsPaidAllTheSame) {
  TrainingWorkload tight = jobs("tight", 1);
  tight.jobs[0].spec.deadline = Time{from_seconds(1000)};
  tight.jobs[0].spec.is_rigid = true;
  const auto play = [&](bool plans_overhead) {
    TrainingRunConfig config;
    config.training.ablation.plans_overhead = plans_overhead;
    return run_training(*formats::parse_cluster_shorthand("1x1xT4"), tight, some_curves(), config);
  };
  EXPECT_EQ(play(true).admitted, 0);
  const TrainingOutcome without = play(false);
  EXPECT_EQ(without.admitted, 1);
  EXPECT_EQ(without.missed_after_admission, 1);
  ASSERT_TRUE(without.by_job[0].finished);
  EXPECT_EQ(*without.by_job[0].finished, Time{from_seconds(1004)});
}

TEST(TrainingSweep, OnlyWeirPlansWithoutOverhead) {
  TrainingSweepConfig config{.policies = {"elasticflow", "edf", "fifo"}};
  const auto with = sweep(config);
  config.training.ablation.plans_overhead = false;
  const auto without = sweep(config);
  for (std::size_t i = 0; i < with.size(); ++i)
    EXPECT_EQ(with[i].outcome.total_completion_seconds,
              without[i].outcome.total_completion_seconds);
}

TEST(TrainingSweep, TellsTheObserverOfEachRunItsRecords) {
  std::vector<std::size_t> records(4, 0);
  TrainingSweepConfig config{.policies = {"weir", "fifo"}, .threads = 2};
  config.observer = [&](std::size_t run) -> std::function<void(const Record&)> {
    if (run == 1) return {};
    return [&records, run](const Record&) { ++records[run]; };
  };
  sweep(config);
  EXPECT_GT(records[0], 3U);
  EXPECT_EQ(records[1], 0U);
  EXPECT_GT(records[2], records[0]);
}

}  // namespace
}  // namespace weir::simulate
