// SPDX-License-Identifier: Apache-2.0
#include "simulate/sweep.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "simulate/parallel_for.h"
#include "simulate/synth.h"

namespace weir::simulate {
namespace {

TEST(ParallelFor, DoesEachPieceOnceOnAnyNumberOfThreads) {
  for (const unsigned threads : {0U, 1U, 2U, 7U}) {
    std::vector<std::atomic<int>> done(100);
    parallel_for(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const auto& count : done) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, PassesOnWhatAPieceThrows) {
  for (const unsigned threads : {1U, 3U}) {
    EXPECT_THROW(parallel_for(50, threads,
                              [](std::size_t i) {
                                if (i == 7) throw std::bad_alloc{};
                              }),
                 std::bad_alloc);
  }
}

class CountingSink final : public ProgressSink {
 public:
  void advance(std::string_view, std::uint64_t done, std::uint64_t total) override {
    ++calls;
    if (done == total) finished = true;
  }
  std::atomic<int> calls{0};
  std::atomic<bool> finished{false};
};

struct SweepSetup {
  SynthConfig synth{.nodes = 50, .jobs = 300};
  Cluster cluster = synth_cluster(synth);
  std::vector<Workload> workloads{synth_workload(synth, cluster)};
};

TEST(Sweep, ComesBackInOrderAndIsTheSameOnAnyNumberOfThreads) {
  const SweepSetup setup;
  SweepConfig config{.policies = {"fgd", "random", "ev-plus"}, .seeds = {1, 2, 3}, .threads = 1};
  CountingSink progress;
  const auto alone = sweep_inflation(setup.cluster, setup.workloads, config, progress);
  EXPECT_EQ(progress.calls, 9);
  EXPECT_TRUE(progress.finished);
  config.threads = 4;
  const auto together = sweep_inflation(setup.cluster, setup.workloads, config, progress);
  ASSERT_EQ(alone.size(), 9U);
  ASSERT_EQ(together.size(), 9U);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].policy, config.policies[i / 3]);
    EXPECT_EQ(alone[i].seed, config.seeds[i % 3]);
    EXPECT_EQ(alone[i].policy, together[i].policy);
    EXPECT_EQ(alone[i].failed, together[i].failed);
    for (std::size_t percent = 0; percent < alone[i].arrived.size(); ++percent) {
      ASSERT_EQ(alone[i].arrived[percent].allocated_milli.sum,
                together[i].arrived[percent].allocated_milli.sum);
      ASSERT_EQ(alone[i].arrived[percent].fragmented_micro.sum,
                together[i].arrived[percent].fragmented_micro.sum);
    }
  }
}

TEST(Sweep, NoPolicyAllocatesMoreThanTheBoundOfItsList) {
  const SweepSetup setup;
  SweepConfig config{.policies = {"fgd", "ev-plus"}, .seeds = {1, 2}, .bound = true};
  NoProgress quiet;
  for (const auto& outcome : sweep_inflation(setup.cluster, setup.workloads, config, quiet)) {
    ASSERT_TRUE(outcome.bound_percent.has_value());
    EXPECT_LE(*outcome.allocated_percent(100), *outcome.bound_percent);
  }
}

TEST(Sweep, ChurnCoversLoadsQueuesPoliciesAndSeeds) {
  const SweepSetup setup;
  ChurnSweepConfig config;
  config.runs = SweepConfig{.policies = {"best-fit", "fgd"}, .seeds = {1, 2}, .threads = 2};
  config.load_percents = {80, 120};
  NoProgress quiet;
  const auto outcomes = sweep_churn(setup.cluster, setup.workloads, config, quiet);
  ASSERT_EQ(outcomes.size(), 16U);
  EXPECT_EQ(outcomes[0].queue, "fifo");
  EXPECT_EQ(outcomes[4].queue, "backfill");
  EXPECT_DOUBLE_EQ(outcomes[8].load, 1.2);
  EXPECT_EQ(outcomes[2].policy, "fgd");
  EXPECT_EQ(outcomes[1].seed, 2U);
}

}  // namespace
}  // namespace weir::simulate
