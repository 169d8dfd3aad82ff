// SPDX-License-Identifier: Apache-2.0
//
// What the loop tells for charts: figures now and over time, and the progress of jobs.
#include <gmock/gmock.h>

#include <map>

#include "control/controller.h"
#include "control/controller_testing.h"

namespace weir::control {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::BusyLoop;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kSixMinutes;
using testing::kWhenever;
using ::testing::Pair;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;
using testing::Waiting;

std::optional<Overview> overview_of(Rig& rig) {
  Waiting<std::optional<Overview>> waiting;
  rig.controller().overview(waiting.callback());
  return waiting.get();
}

std::vector<HistoryRow> history_of(Rig& rig, std::int64_t step = 5) {
  return StoreReader::open(rig.options()).value()->history(step, 0, std::int64_t{1} << 40).value();
}

std::vector<ProgressPoint> progress_of(Rig& rig, JobId job) {
  return StoreReader::open(rig.options()).value()->progress(job).value();
}

TEST(Overview, CountsWhatThereIs) {
  Rig rig{small_cluster(2, 4)};
  const JobId one = rig.accept(kSixMinutes);
  rig.accept(kWhenever);
  rig.accept(R"({"name":"unheard","command":["x"],"iterations":5})");
  EXPECT_EQ(rig.submit(R"({"name":"r","command":["x"],"duration":"6m","deadline":"1m"})").kind,
            SubmitAnswer::Kind::refused);
  rig.settle();
  const auto shown = overview_of(rig);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->at, rig.clocks().wall());
  EXPECT_EQ(shown->gpus, 8);
  EXPECT_EQ(shown->nodes, 2);
  EXPECT_THAT(shown->phases,
              ElementsAre(Pair("refused", 1), Pair("running", 2), Pair("waiting", 1)));
  EXPECT_EQ(shown->figures.gpus_up, 8);
  EXPECT_EQ(shown->figures.gpus_in_use, 2);
  EXPECT_EQ(shown->figures.running, 2);
  EXPECT_EQ(shown->figures.waiting, 1);
  EXPECT_EQ(shown->figures.open, 1);
  EXPECT_EQ(shown->figures.at_risk, 0);
  EXPECT_EQ(shown->figures.promises, (PromiseCounts{0, 0, 1}));
  EXPECT_EQ(shown->figures.gpus_fragmented, 0) << "all asked for one GPU";
  rig.end_well(one, 1);
  const auto later = overview_of(rig);
  EXPECT_EQ(later->figures.open, 0);
  EXPECT_EQ(later->figures.gpus_in_use, 1);
  EXPECT_EQ(later->figures.promises, (PromiseCounts{1, 0, 1}));
}

TEST(Overview, SaysWhichPromisesAreAtRiskAndWhichNodesAreUp) {
  Rig rig{small_cluster(2, 1)};
  const JobId one = rig.accept(kSixMinutes);
  const JobId two = rig.accept(kSixMinutes);
  rig.settle();
  rig.report(one, 1, RunReady{});
  rig.report(two, 1, RunReady{});
  rig.drain(NodeId{1});
  EXPECT_EQ(overview_of(rig)->figures.gpus_up, 1);
  EXPECT_EQ(overview_of(rig)->figures.at_risk, 1);
  EXPECT_EQ(overview_of(rig)->figures.open, 2);
  rig.restart();
  EXPECT_EQ(overview_of(rig)->figures.at_risk, 1) << "after a restart, too";
  EXPECT_EQ(overview_of(rig)->figures.open, 2);
  rig.drain(NodeId{1}, false);
  EXPECT_EQ(overview_of(rig)->figures.gpus_up, 2);
  EXPECT_EQ(overview_of(rig)->figures.at_risk, 0);
}

TEST(Overview, APromiseIsBrokenWhenItsDeadlinePassesFirst) {
  Rig rig{small_cluster(1, 4)};
  const JobId late = rig.accept(kSixMinutes);
  const JobId failed_late = rig.accept(kSixMinutes);
  const JobId failed_early = rig.accept(kSixMinutes);
  const JobId cancelled = rig.accept(kSixMinutes);
  rig.settle();
  rig.fail(failed_early, 1);
  rig.cancel(cancelled);
  EXPECT_EQ(overview_of(rig)->figures.promises, PromiseCounts{}) << "neither kept nor broken";
  rig.pass(minutes{11});
  rig.end_well(late, 1);
  rig.fail(failed_late, 1);
  EXPECT_EQ(overview_of(rig)->figures.promises, (PromiseCounts{0, 2, 0}));
}

TEST(Overview, PromisesAreCountedAcrossRestartsAndForgetting) {
  Rig rig{small_cluster(1, 1)};
  rig.close();
  rig.config().snapshot_every = 10;
  rig.config().keep_history = hours{1};
  rig.open();
  const JobId kept = rig.accept(kSixMinutes);
  rig.submit(kSixMinutes);  // no room
  rig.settle();
  rig.end_well(kept, 1);
  ASSERT_EQ(overview_of(rig)->figures.promises, (PromiseCounts{1, 0, 1}));
  rig.pass(hours{2});
  for (int i = 0; i < 200 && rig.engine().removed().empty(); ++i) {
    rig.accept(kWhenever);
    rig.pass(minutes{11});
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  ASSERT_THAT(rig.engine().removed(), Contains(kept));
  EXPECT_EQ(overview_of(rig)->figures.promises, (PromiseCounts{1, 0, 1}));
  const auto phases = overview_of(rig)->phases;
  EXPECT_FALSE(phases.contains("refused")) << "its job is gone";
  rig.restart();
  EXPECT_EQ(overview_of(rig)->figures.promises, (PromiseCounts{1, 0, 1}));
  EXPECT_EQ(overview_of(rig)->phases, phases);
}

// Four GPUs on a node, of which a job has the first: two of the other three make a pair.
TEST(Overview, FragmentedIsWhatJobsAsUsualCouldNotUse) {
  Rig rig{small_cluster(1, 4)};
  rig.accept(kWhenever);
  rig.settle();
  EXPECT_EQ(overview_of(rig)->figures.gpus_fragmented, 0);
  const JobId pair = rig.accept(R"({"name":"p","command":["x"],"duration":"6m","gpus":2})");
  rig.cancel(pair);
  rig.pass(seconds{1});
  EXPECT_EQ(overview_of(rig)->figures.gpus_fragmented, (0 + 1) / 2.0);
  rig.restart();
  EXPECT_EQ(overview_of(rig)->figures.gpus_fragmented, 0.5) << "what was asked for is remembered";
}

// The counters are what a count of all jobs says, whatever happens.
TEST(Overview, CountersAgreeWithTheJobs) {
  Rig rig{small_cluster(2, 4)};
  SeededRng rng{11};
  std::vector<JobId> jobs;
  for (int step = 0; step < 120; ++step) {
    const std::string gpus = std::to_string(1 << rng.below(3));
    const std::string deadline = std::to_string(5 + rng.below(60));
    switch (rng.below(8)) {
      default:
        rig.submit(R"({"name":"j","command":["x"],"duration":"4m","gpus":)" + gpus +
                   R"(,"deadline":")" + deadline + R"(m"})");
        jobs.push_back(JobId{jobs.size() + 1});
        break;
      case 0:
        rig.submit(
            R"({"name":"t","command":["x"],"iterations":6000,"throughput":{"1":10,"2":19}})");
        jobs.push_back(JobId{jobs.size() + 1});
        break;
      case 1:
        if (!jobs.empty()) rig.cancel(jobs[rng.below(jobs.size())]);
        break;
      case 2:
        rig.drain(NodeId{1 + rng.below(2)}, rng.below(2) == 0);
        break;
      case 3:
      case 4:
        for (const JobId job : jobs) {
          const auto view = rig.job(job);
          if (view.at("phase") != "running" || rng.below(3) > 0) continue;
          const auto generation = view.at("generation").get<std::uint32_t>();
          rng.below(3) == 0 ? rig.fail(job, generation) : rig.end_well(job, generation);
        }
        break;
      case 5:
        if (rng.below(6) == 0) rig.restart();
        break;
    }
    rig.pass(seconds{rng.below(90)});
    std::map<std::string, std::int64_t> phases;
    Overview expected;
    for (const JobId job : jobs) {
      const auto view = rig.job(job);
      const auto status = read_job_status(view.dump()).value();
      ++phases[view.at("phase")];
      expected.figures.gpus_in_use += status.gpus;
      if (is_over(status.phase)) {
        count_promise(expected.figures.promises, status);
      } else if (status.is_promised) {
        ++expected.figures.open;
        expected.figures.at_risk += status.is_at_risk ? 1 : 0;
      }
    }
    const auto shown = overview_of(rig);
    ASSERT_TRUE(shown);
    ASSERT_EQ(shown->phases, phases) << step;
    ASSERT_EQ(shown->figures.gpus_in_use, expected.figures.gpus_in_use) << step;
    ASSERT_EQ(shown->figures.open, expected.figures.open) << step;
    ASSERT_EQ(shown->figures.at_risk, expected.figures.at_risk) << step;
    ASSERT_EQ(shown->figures.promises, expected.figures.promises) << step;
  }
  EXPECT_GT(overview_of(rig)->figures.promises.kept, 0);
  EXPECT_GT(overview_of(rig)->figures.promises.refused, 0);
}

// ---- Over time

TEST(History, ASampleIsTakenEveryFiveSeconds) {
  Rig rig{small_cluster(1, 2)};
  rig.settle();
  const LogPosition before = rig.controller().log_end();
  const auto start = history_of(rig).size();
  for (int i = 0; i < 24; ++i) rig.pass(std::chrono::milliseconds{2500});
  const auto rows = history_of(rig);
  EXPECT_EQ(rows.size(), start + 12);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].at, rows[i - 1].at + 5);
  EXPECT_EQ(rows.back().figures.gpus_up, 2);
  EXPECT_EQ(rig.controller().log_end().entry, before.entry) << "it is not in the log";
  EXPECT_THAT(history_of(rig, 60), SizeIs(::testing::AllOf(::testing::Ge(1), ::testing::Le(2))));
}

TEST(History, ShowsWhatWasStored) {
  Rig rig{small_cluster(1, 2)};
  rig.pass(seconds{5});
  const JobId job = rig.accept(kSixMinutes);
  rig.settle();
  rig.pass(seconds{5});
  EXPECT_EQ(history_of(rig).back().figures.gpus_in_use, 1);
  EXPECT_EQ(history_of(rig).back().figures.running, 1);
  EXPECT_EQ(history_of(rig).back().figures.open, 1);
  rig.end_well(job, 1);
  rig.pass(seconds{5});
  EXPECT_EQ(history_of(rig).back().figures.gpus_in_use, 0);
  EXPECT_EQ(history_of(rig).back().figures.promises.kept, 1);
}

TEST(History, AServerThatStartsDoesNotSayHowItIs) {
  Rig rig{small_cluster(1, 2)};
  rig.nodes();
  EXPECT_THAT(history_of(rig), IsEmpty());
  rig.pass(seconds{5});
  EXPECT_THAT(history_of(rig), SizeIs(1));
  rig.clocks().pass(hours{1});
  rig.restart();
  rig.nodes();
  EXPECT_THAT(history_of(rig), SizeIs(1)) << "nor of the time in which it did not run";
  rig.pass(seconds{5});
  EXPECT_THAT(history_of(rig), SizeIs(2));
}

class HistoryWithoutDisk : public ::testing::Test {
 protected:
  static constexpr int kFull = 13;  // SQLITE_FULL
  FaultyVfs disk_{"history-full"};
  Rig rig_{small_cluster(1, 2), "history-full"};
};

TEST_F(HistoryWithoutDisk, ASampleThatCannotBeWrittenIsTroubleLikeAnyOther) {
  const JobId job = rig_.accept(kSixMinutes);
  rig_.settle();
  rig_.pass(seconds{5});
  const auto before = history_of(rig_);
  ASSERT_FALSE(before.empty());
  ASSERT_TRUE(rig_.controller().health().is_ok);
  disk_.fail_from(1, kFull);
  for (int i = 0; i < 5; ++i) rig_.pass(seconds{5});
  EXPECT_FALSE(rig_.controller().health().is_ok);
  disk_.heal();
  EXPECT_EQ(history_of(rig_), before);
  for (int i = 0; i < 600 && !rig_.controller().health().is_ok; ++i) {
    rig_.nodes();
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  ASSERT_TRUE(rig_.controller().health().is_ok);
  EXPECT_EQ(history_of(rig_), before) << "no sample for the time in which it could not write";
  EXPECT_EQ(rig_.phase(job), "running");
  rig_.pass(seconds{5});
  EXPECT_EQ(history_of(rig_).size(), before.size() + 1);
}

// ---- Progress

std::string reporting_job(const std::string& name, const std::string& more) {
  return R"({"name":")" + name +
         R"(","command":["x"],"reports_progress":true,"iterations":60000,"throughput":{"1":10})" +
         more + "}";
}

RunProgress told(std::int64_t iterations, double elapsed, std::optional<double> loss = {}) {
  RunProgress made;
  made.iterations = iterations;
  made.elapsed = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(elapsed));
  made.loss = loss;
  return made;
}

TEST(Progress, HasAPointForEachChangeAndForNews) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(reporting_job("t", ""));
  rig.settle();
  ASSERT_EQ(rig.phase(job), "running");
  auto points = progress_of(rig, job);
  ASSERT_THAT(points, SizeIs(1)) << "its start";
  EXPECT_EQ(points[0].gpus, 1);
  EXPECT_EQ(points[0].done, 0);
  EXPECT_FALSE(points[0].rate);
  rig.report(job, 1, RunReady{});
  for (int i = 1; i <= 6; ++i) {
    rig.pass(seconds{10});
    rig.report(job, 1, told(i * 80, i * 10, 1.0 / i));
  }
  rig.report(job, 1, told(481, 60.1, 9.0));  // no news
  points = progress_of(rig, job);
  ASSERT_THAT(points, SizeIs(7));
  EXPECT_EQ(points.back().done, 480);
  EXPECT_EQ(points.back().gpus, 1);
  EXPECT_EQ(points.back().loss, 1.0 / 6);
  ASSERT_TRUE(points.back().rate);
  EXPECT_NEAR(*points.back().rate, 8, 0.5);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_GT(points[i].at, points[i - 1].at);
  EXPECT_EQ(points.back().at, rig.clocks().wall());
  rig.pass(seconds{1});
  rig.end_well(job, 1);
  points = progress_of(rig, job);
  ASSERT_THAT(points, SizeIs(8));
  EXPECT_EQ(points.back().gpus, 0);
  EXPECT_EQ(points.back().done, 60'000);
  rig.restart();
  EXPECT_EQ(progress_of(rig, job), points);
}

TEST(Progress, ShowsPauses) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(reporting_job("t", ""));
  rig.settle();
  rig.report(job, 1, RunReady{});
  rig.pass(seconds{20});
  rig.drain(NodeId{1});
  rig.settle();
  ASSERT_EQ(rig.phase(job), "paused");
  rig.drain(NodeId{1}, false);
  rig.settle();
  ASSERT_EQ(rig.phase(job), "running");
  std::vector<std::int64_t> gpus;
  for (const ProgressPoint& point : progress_of(rig, job)) gpus.push_back(point.gpus);
  EXPECT_THAT(gpus, ElementsAre(1, 0, 1));
}

TEST(Progress, TheLastNewsAndTheEndInOneBatchAreOnePoint) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(reporting_job("t", ""));
  rig.settle();
  rig.report(job, 1, RunReady{});
  rig.pass(seconds{20});
  BusyLoop loop{rig.controller()};
  rig.engine().report(job, 1, told(59'999, 20, 0.125));
  rig.engine().report(job, 1, RunEnded{RunEndKind::exited, 0, "exit code 0"});
  loop.end();
  rig.nodes();
  const auto points = progress_of(rig, job);
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points.back().loss, 0.125);
  EXPECT_EQ(points.back().gpus, 0);
  EXPECT_EQ(points.back().done, 60'000);
}

TEST(Progress, ALossThatIsNoNumberIsNone) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(reporting_job("t", ""));
  rig.settle();
  rig.report(job, 1, RunReady{});
  rig.pass(seconds{20});
  rig.report(job, 1, told(100, 20, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(progress_of(rig, job).back().done, 100);
  EXPECT_FALSE(progress_of(rig, job).back().loss);
}

// Also across restarts, after which nobody has counted.
TEST(Progress, ALongJobKeepsAFewHundredPoints) {
  FaultyVfs disk{"progress-quick"};  // does not wait for a real disk
  Rig rig{small_cluster(1, 1), "progress-quick"};
  const JobId job =
      rig.accept(R"({"name":"t","command":["x"],"reports_progress":true,"iterations":1000000,
                     "throughput":{"1":10}})");
  rig.settle();
  rig.report(job, 1, RunReady{});
  const Time begin = progress_of(rig, job).front().at;
  std::size_t most = 0;
  for (int i = 1; i <= 1500; ++i) {
    rig.clocks().pass(seconds{10});
    rig.report(job, 1, told(i * 100, i * 10));
    if (i % 290 == 0) rig.restart();
    if (i % 50 == 0) most = std::max(most, progress_of(rig, job).size());
  }
  const auto points = progress_of(rig, job);
  EXPECT_GT(most, 500U);
  EXPECT_LE(most, kMostProgressPoints);
  EXPECT_GE(points.size(), 150U);
  EXPECT_EQ(points.front().at, begin);
  EXPECT_EQ(points.back().done, 150'000);
}

TEST(Progress, GoesWithItsJob) {
  Rig rig{small_cluster(1, 1)};
  rig.close();
  rig.config().snapshot_every = 10;
  rig.config().keep_history = hours{1};
  rig.open();
  const JobId old = rig.accept(reporting_job("t", ""));
  rig.settle();
  rig.end_well(old, 1);
  ASSERT_THAT(progress_of(rig, old), SizeIs(2));
  rig.pass(hours{2});
  for (int i = 0; i < 200 && rig.engine().removed().empty(); ++i) {
    rig.accept(kWhenever);
    rig.pass(minutes{11});
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  ASSERT_THAT(rig.engine().removed(), Contains(old));
  EXPECT_THAT(progress_of(rig, old), IsEmpty());
}

}  // namespace
}  // namespace weir::control
