// SPDX-License-Identifier: Apache-2.0
#include "simulate/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <mutex>

#include "formats/cluster_shorthand.h"

namespace weir::simulate {
namespace {

using ::testing::ElementsAre;

// Jobs of 1000 s on one GPU, one every 100 s, with time for that and a little more.
TraceToCompare a_trace(std::string name, const char* cluster, int jobs) {
  TraceToCompare trace;
  trace.cluster = *formats::parse_cluster_shorthand(cluster);
  trace.jobs_file = name + ".csv";
  trace.workload.name = std::move(name);
  CurveBook book;
  book.curves.emplace(CurveKey{"m", 32},
                      Curve{{{1, IterationRate{1'000'000}}, {2, IterationRate{1'800'000}}}});
  trace.curves = {book};
  for (int i = 0; i < jobs; ++i) {
    TrainingSpec spec;
    spec.name = "j" + std::to_string(i);
    spec.curve = {"m", 32};
    spec.iterations = 1000;
    spec.deadline_kind = DeadlineKind::hard;
    spec.deadline = Time{from_seconds(100 * i + 1200)};
    trace.workload.jobs.push_back({Time{from_seconds(100 * i)}, spec});
  }
  return trace;
}

std::vector<TraceToCompare> some_traces() {
  return {a_trace("small", "1x1xT4", 2), a_trace("large", "2x2xT4", 9),
          a_trace("middle", "1x2xT4", 5)};
}

std::vector<TrainingSweepRun> all_runs(const std::vector<TraceToCompare>& traces,
                                       const TrainingSweepConfig& config) {
  std::vector<TrainingSweepRun> runs(count_runs(traces, config));
  NoProgress progress;
  compare(traces, config, progress,
          [&](std::size_t run, TrainingSweepRun outcome) { runs[run] = std::move(outcome); });
  return runs;
}

TEST(Comparison, PlaysEachTraceOnItsOwnCluster) {
  const auto runs = all_runs(some_traces(), {.policies = {"weir", "fifo"}, .threads = 2});
  ASSERT_EQ(runs.size(), 6U);
  EXPECT_EQ(runs[0].workload, "small");
  EXPECT_EQ(runs[0].gpus, 1);
  EXPECT_EQ(runs[1].outcome.policy, "fifo");
  EXPECT_EQ(runs[2].gpus, 4);
  EXPECT_EQ(runs[2].jobs_file, "large.csv");
  EXPECT_EQ(runs[5].outcome.jobs, 5);
}

TEST(Comparison, BeginsWithTheTraceThatHasMostJobs) {
  EXPECT_THAT(longest_first(some_traces(), {.policies = {"weir", "fifo"}}),
              ElementsAre(2, 3, 4, 5, 0, 1));
  EXPECT_THAT(longest_first(some_traces(), {.policies = {"weir"}, .seeds = {1, 2}}),
              ElementsAre(2, 3, 4, 5, 0, 1));
}

TEST(Comparison, EachTraceHasItsSlot) {
  auto traces = some_traces();
  traces[1].slot = from_seconds(60);
  const TrainingSweepConfig config{.policies = {"weir", "edf"}, .seeds = {3, 4}};
  EXPECT_EQ(run_config(traces, config, 0).training.slot, Duration{0});
  EXPECT_EQ(run_config(traces, config, 7).training.slot, from_seconds(60));
  EXPECT_EQ(run_config(traces, config, 7).policy, "edf");
  EXPECT_EQ(run_config(traces, config, 7).training.seed, 4U);
  EXPECT_EQ(run_config(traces, config, 7).speeds.seed, 4U);
}

TEST(Comparison, IsTheSameAsSweepingTraceByTraceOnAnyNumberOfThreads) {
  const auto traces = some_traces();
  TrainingSweepConfig config{.policies = {"weir", "elasticflow", "edf"}, .seeds = {7, 8}};
  config.speeds = {800, 1000};
  for (const unsigned threads : {1U, 3U}) {
    config.threads = threads;
    const auto runs = all_runs(traces, config);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const SweepPlace place = place_of(config, i);
      const TraceToCompare& trace = traces[place.workload];
      NoProgress progress;
      const auto alone = sweep_training(trace.cluster, {trace.workload}, trace.curves, config,
                                        progress)[i % (3 * 2)];
      EXPECT_EQ(runs[i].seed, alone.seed);
      EXPECT_EQ(runs[i].outcome.policy, alone.outcome.policy);
      EXPECT_EQ(runs[i].outcome.met, alone.outcome.met);
      EXPECT_EQ(runs[i].outcome.total_completion_seconds, alone.outcome.total_completion_seconds);
    }
  }
}

TEST(Comparison, TellsHowFarItIs) {
  struct Progress : ProgressSink {
    std::mutex mutex;
    std::uint64_t calls = 0;
    void advance(std::string_view, std::uint64_t done, std::uint64_t total) override {
      const std::scoped_lock lock{mutex};
      EXPECT_LE(done, total);
      EXPECT_EQ(total, 3U);
      ++calls;
    }
  } progress;
  compare(some_traces(), {.policies = {"fifo"}, .threads = 2}, progress, [](auto, auto) {});
  EXPECT_EQ(progress.calls, 3U);
}

RC_GTEST_PROP(Comparison, EveryRunIsBegunOnceAndNoShorterTraceBeforeALongerOne, ()) {
  const auto sizes = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 6));
  std::vector<TraceToCompare> traces;
  for (const int jobs : sizes) traces.push_back(a_trace("t", "1x1xT4", jobs));
  TrainingSweepConfig config;
  config.policies.assign(*rc::gen::inRange<std::size_t>(1, 4), "fifo");
  config.seeds.assign(*rc::gen::inRange<std::size_t>(0, 3), 1);
  const auto order = longest_first(traces, config);
  std::vector<int> seen(count_runs(traces, config));
  std::size_t last = 100;
  for (const std::size_t run : order) {
    ++seen[run];
    const std::size_t jobs = traces[place_of(config, run).workload].workload.jobs.size();
    RC_ASSERT(jobs <= last);
    last = jobs;
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

}  // namespace
}  // namespace weir::simulate
