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
