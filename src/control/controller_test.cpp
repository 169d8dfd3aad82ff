// SPDX-License-Identifier: Apache-2.0
#include "control/controller.h"

#include <gmock/gmock.h>

#include "control/controller_testing.h"
#include "formats/time_text.h"

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
using ::testing::Not;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;
using testing::submission_of;
using testing::Waiting;
using Kind = SubmitAnswer::Kind;

std::string training(const std::string& name, const std::string& more) {
  return R"({"name":")" + name + R"(","command":["x"],"iterations":6000,"throughput":{"1":10})" +
         more + "}";
}

TEST(Controller, PromisesAndOrders) {
  Rig rig{small_cluster(1, 2)};
  const JobId job = rig.accept(kSixMinutes);
  EXPECT_EQ(job, JobId{1});
  rig.settle();
  const auto orders = rig.engine().orders_of(job);
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_EQ(orders[0].generation, 1u);
  EXPECT_THAT(orders[0].gpus, SizeIs(1));
  EXPECT_EQ(orders[0].launch->command, std::vector<std::string>{"x"});
  const auto view = rig.job(job);
  EXPECT_EQ(view.at("phase"), "running");
  EXPECT_EQ(view.at("promised"), true);
  rig.report(job, 1, RunReady{});
  rig.pass(minutes{5});
  rig.end_well(job, 1);
  EXPECT_EQ(rig.phase(job), "finished");
  EXPECT_EQ(rig.job(job).at("met_deadline"), true);
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(job));
}

TEST(Controller, APromiseIsDurableBeforeItIsTold) {
  FaultyVfs disk{"controller-power"};
  Rig rig{small_cluster(1, 2), "controller-power"};
  Waiting<SubmitAnswer> waiting;
  rig.controller().submit(submission_of(kSixMinutes, "key"),
                          [&disk, to = waiting.callback()](SubmitAnswer answer) {
                            disk.lose_power_at(1, 7);  // in this very moment
                            to(std::move(answer));
                          });
  const SubmitAnswer answer = waiting.get();
  ASSERT_EQ(answer.kind, Kind::accepted);
  rig.close();
  disk.restore_power();
  rig.open();
  const auto before = nlohmann::json::parse(answer.view);
  const auto after = rig.job(JobId{1});
  ASSERT_FALSE(after.is_null());
  EXPECT_EQ(after.at("promised"), true);
  EXPECT_EQ(after.at("deadline"), before.at("deadline"));
  EXPECT_EQ(rig.submit(kSixMinutes, "key").kind, Kind::repeated);
}

TEST(Controller, ARefusalNamesADeadlineThatIsThenPromised) {
  Rig rig{small_cluster(1, 1)};
  rig.accept(kSixMinutes);
  const SubmitAnswer refused = rig.submit(kSixMinutes);
  ASSERT_EQ(refused.kind, Kind::refused);
  const auto view = nlohmann::json::parse(refused.view);
  EXPECT_EQ(view.at("phase"), "refused");
  EXPECT_THAT(view.at("reason").get<std::string>(), Not(IsEmpty()));
  const auto earliest = view.at("earliest_deadline").get<std::string>();
  const SubmitAnswer offered = rig.submit(
      R"({"name":"later","command":["x"],"duration":"6m","deadline":")" + earliest + R"("})");
  ASSERT_EQ(offered.kind, Kind::accepted);
  EXPECT_EQ(nlohmann::json::parse(offered.view).at("promised"), true);
  rig.settle();
  EXPECT_THAT(rig.engine().orders_of(JobId{2}), IsEmpty()) << "a refused job never runs";
}

TEST(Controller, AKeyStandsForOneJob) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(kSixMinutes, "key");
  const SubmitAnswer again = rig.submit(kSixMinutes, "key");
  EXPECT_EQ(again.kind, Kind::repeated);
  EXPECT_EQ(nlohmann::json::parse(again.view).at("id"), job.value);
  EXPECT_EQ(rig.submit(kWhenever, "key").kind, Kind::key_reused);
  EXPECT_EQ(rig.jobs(), 1u);
  rig.restart();
  EXPECT_EQ(rig.submit(kSixMinutes, "key").kind, Kind::repeated);
  EXPECT_EQ(rig.submit(kWhenever, "key").kind, Kind::key_reused);
  EXPECT_EQ(rig.jobs(), 1u);
  EXPECT_EQ(rig.submit(kSixMinutes, "other").kind, Kind::refused);
  EXPECT_EQ(rig.submit(kSixMinutes, "other").kind, Kind::repeated) << "a refusal has its key too";
}

TEST(Controller, AKeyStandsForOneJobWithinABatchToo) {
  Rig rig{small_cluster(1, 4)};
  Waiting<SubmitAnswer> first;
  Waiting<SubmitAnswer> second;
  Waiting<SubmitAnswer> other;
  {
    const BusyLoop busy{rig.controller()};
    rig.controller().submit(submission_of(kSixMinutes, "key"), first.callback());
    rig.controller().submit(submission_of(kSixMinutes, "key"), second.callback());
    rig.controller().submit(submission_of(kWhenever, "key"), other.callback());
  }
  EXPECT_EQ(first.get().kind, Kind::accepted);
  const SubmitAnswer repeated = second.get();
  EXPECT_EQ(repeated.kind, Kind::repeated);
  EXPECT_EQ(nlohmann::json::parse(repeated.view).at("id"), 1);
  const SubmitAnswer reused = other.get();
  EXPECT_EQ(reused.kind, Kind::key_reused);
  EXPECT_THAT(to_string(reused.errors), ::testing::HasSubstr("belongs to job 1"));
  EXPECT_EQ(rig.jobs(), 1u);
}

TEST(Controller, WhatCannotRunHereIsNoJob) {
  Rig rig{small_cluster(1, 2)};
  rig.settle();
  const auto end = rig.controller().log_end();
  const SubmitAnswer large = rig.submit(R"({"name":"large","command":["x"],"gpus":64})", "key");
  EXPECT_EQ(large.kind, Kind::malformed);
  EXPECT_THAT(to_string(large.errors), ::testing::HasSubstr("gpus is \"64\""));
  const SubmitAnswer late = rig.submit(
      R"({"name":"late","command":["x"],"duration":"1m","deadline":"2001-01-01T00:00:00Z"})");
  EXPECT_EQ(late.kind, Kind::malformed);
  EXPECT_THAT(to_string(late.errors), ::testing::HasSubstr("a time after now"));
  EXPECT_EQ(rig.jobs(), 0u);
  EXPECT_EQ(rig.controller().log_end().record, end.record);
  EXPECT_EQ(rig.accept(kSixMinutes, "key"), JobId{1}) << "the key is free";
}

TEST(Controller, WaitsForACurveAndThenPromises) {
  Rig rig{small_cluster(1, 2)};
  const JobId job =
      rig.accept(R"({"name":"new","command":["x"],"iterations":600,"model":"m","deadline":"10m"})");
  EXPECT_EQ(rig.phase(job), "waiting");
  rig.settle();
  EXPECT_THAT(rig.engine().orders_of(job), IsEmpty());
  rig.accept(
      R"({"name":"knows","command":["x"],"iterations":1,"model":"m","throughput":{"1":10,"2":19}})");
  EXPECT_EQ(rig.job(job).at("promised"), true);
  rig.settle();
  EXPECT_EQ(rig.phase(job), "running");
}

TEST(Controller, CancelsAJobThatWaits) {
  Rig rig{small_cluster(1, 1)};
  rig.accept(kSixMinutes);
  const JobId job = rig.accept(kWhenever);
  rig.settle();
  EXPECT_EQ(rig.phase(job), "queued");
  EXPECT_FALSE(rig.cancel(job).is_unavailable);
  EXPECT_EQ(rig.phase(job), "cancelled");
  // The engine is told in any case, and forgets the job when it has said that nothing runs.
  const auto orders = rig.engine().orders_of(job);
  ASSERT_THAT(orders, SizeIs(1));
  EXPECT_THAT(orders[0].gpus, IsEmpty());
  EXPECT_THAT(rig.engine().forgotten(), Not(Contains(job)));
  rig.report(job, orders[0].generation, RunStopped{});
  EXPECT_THAT(rig.engine().forgotten(), Contains(job));
}

TEST(Controller, CancelsAJobThatRuns) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(kSixMinutes);
  const JobId next = rig.accept(kWhenever);
  rig.settle();
  rig.report(job, 1, RunReady{});
  EXPECT_FALSE(rig.cancel(job).is_unavailable);
  EXPECT_EQ(rig.phase(job), "cancelled");
  const auto orders = rig.engine().orders_of(job);
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[1].generation, 2u);
  EXPECT_THAT(orders[1].gpus, IsEmpty());
  // What its processes still say changes nothing.
  rig.report(job, 1, RunProgress{5});
  EXPECT_THAT(rig.engine().forgotten(), IsEmpty()) << "they run still";
  rig.report(job, 2, RunStopped{});
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(job));
  rig.settle();
  EXPECT_EQ(rig.phase(next), "running");
  EXPECT_EQ(rig.phase(job), "cancelled");
}

TEST(Controller, AJobThatIsOverStaysAsItIs) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(kSixMinutes);
  rig.settle();
  rig.end_well(job, 1);
  rig.settle();
  const auto view = rig.job(job);
  const auto end = rig.controller().log_end();
  EXPECT_FALSE(rig.cancel(job).is_unavailable);
  EXPECT_FALSE(rig.cancel(JobId{999}).is_unavailable) << "the API knows whether it exists";
  EXPECT_EQ(rig.job(job), view);
  EXPECT_EQ(rig.controller().log_end().record, end.record);
}

TEST(Controller, TriesAgainAsOftenAsTheJobSays) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["x"],"duration":"6m","retries":1})");
  rig.settle();
  rig.fail(job, 1);
  rig.settle();
  auto orders = rig.engine().orders_of(job);
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[1].generation, 2u);
  EXPECT_EQ(orders[1].restarts, 1u);
  EXPECT_EQ(rig.job(job).at("restarts"), 1);
  EXPECT_EQ(rig.job(job).at("exit"), "exit code 1");
  EXPECT_EQ(rig.phase(job), "running");
  rig.fail(job, 2);
  rig.settle();
  EXPECT_EQ(rig.phase(job), "failed");
  EXPECT_THAT(rig.engine().orders_of(job), SizeIs(2));
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(job));
}

TEST(Controller, WhatCannotStartIsNotTriedAgain) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["no"],"duration":"6m","retries":9})");
  rig.settle();
  rig.report(job, 1, RunEnded{RunEndKind::not_started, ENOENT, "there is no program \"no\""});
  EXPECT_EQ(rig.phase(job), "failed");
  EXPECT_EQ(rig.job(job).at("exit"), "there is no program \"no\"");
}

TEST(Controller, ALostRunIsNotTheJobsFault) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["x"],"duration":"6m"})");
  rig.settle();
  constexpr std::uint32_t kMost = 5;
  for (std::uint32_t generation = 1; generation <= kMost; ++generation) {
    rig.report(job, generation, RunEnded{RunEndKind::lost, 0, "the machine restarted"});
    EXPECT_EQ(rig.phase(job), "running") << generation;
  }
  EXPECT_EQ(rig.job(job).at("restarts"), 0);
  // Restarts of the control plane do not forget how often.
  rig.restart();
  rig.report(job, kMost + 1, RunEnded{RunEndKind::lost, 0, "the machine restarted"});
  EXPECT_EQ(rig.phase(job), "failed") << "it does not go on for ever";
}

const RunEnded kSavedAndAsksToResume{RunEndKind::exited, kResumeCode, "exit code 143"};

TEST(Controller, AJobThatHasSavedAndAsksForItIsStartedAgainForNothing) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(training("t", ""));
  rig.settle();
  for (std::uint32_t generation = 1; generation <= 12; ++generation) {
    rig.report(job, generation, RunProgress{generation * 10});
    rig.report(job, generation, kSavedAndAsksToResume);
    ASSERT_EQ(rig.phase(job), "running") << generation;
  }
  EXPECT_EQ(rig.job(job).at("resumes"), 12);
  EXPECT_EQ(rig.job(job).at("restarts"), 0);
  EXPECT_EQ(rig.engine().orders_of(job).back().restarts, 12u);
}

TEST(Controller, AskingToBeStartedAgainWithoutAStepInBetweenIsFailing) {
  for (const int retries : {0, 1}) {
    Rig rig{small_cluster(1, 1)};
    const JobId job = rig.accept(training("t", ",\"retries\":" + std::to_string(retries)));
    rig.settle();
    rig.report(job, 1, RunProgress{10});
    std::uint32_t generation = 1;
    rig.report(job, generation++, kSavedAndAsksToResume);  // it had worked
    for (int i = 1; i < 5; ++i) {
      rig.report(job, generation++, kSavedAndAsksToResume);
      ASSERT_EQ(rig.phase(job), "running") << i;
    }
    rig.report(job, generation++, kSavedAndAsksToResume);
    EXPECT_EQ(rig.phase(job), retries == 0 ? "failed" : "running");
    EXPECT_EQ(rig.job(job).at("restarts"), retries);
    if (retries == 0) continue;
    rig.report(job, generation++, kSavedAndAsksToResume);
    EXPECT_EQ(rig.phase(job), "failed");
  }
}

TEST(Controller, AJobThatHangsHasFailed) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(training("t", R"(,"retries":1)"));
  rig.settle();
  const RunEnded hung{RunEndKind::hung, 0, "no step for 5m"};
  rig.report(job, 1, hung);
  EXPECT_EQ(rig.phase(job), "running");
  EXPECT_EQ(rig.job(job).at("restarts"), 1);
  rig.report(job, 2, hung);
  EXPECT_EQ(rig.phase(job), "failed");
  EXPECT_EQ(rig.job(job).at("exit"), "no step for 5m");
}

TEST(Controller, ProgressIsWrittenWhenItIsNews) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(training("t", ""));
  rig.pass(seconds{1});
  ASSERT_THAT(rig.engine().orders_of(job), SizeIs(1));
  rig.report(job, 1, RunReady{});
  const auto end = rig.controller().log_end();
  for (int done = 1; done < 60; ++done) rig.report(job, 1, RunProgress{done});
  EXPECT_EQ(rig.controller().log_end().record, end.record) << "less than a hundredth of 6000";
  rig.report(job, 1, RunProgress{60});
  EXPECT_EQ(rig.job(job).at("done"), 60);
  rig.report(job, 1, RunProgress{61});
  EXPECT_EQ(rig.job(job).at("done"), 60);
  rig.pass(seconds{10});
  rig.report(job, 1, RunProgress{62});
  EXPECT_EQ(rig.job(job).at("done"), 62) << "at least every ten seconds";
  rig.report(job, 1, RunProgress{999'999});
  EXPECT_EQ(rig.job(job).at("done"), 6000) << "no more than there is";
  rig.report(job, 1, RunProgress{-7});
  EXPECT_EQ(rig.job(job).at("done"), 6000);
}

TEST(Controller, LateAndRepeatedReportsChangeNothing) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["x"],"duration":"6m","retries":3})");
  rig.settle();
  rig.report(job, 1, RunReady{});
  rig.report(job, 1, RunReady{});
  rig.fail(job, 1);
  rig.settle();
  ASSERT_THAT(rig.engine().orders_of(job), SizeIs(2));
  const auto before = rig.job(job);
  rig.fail(job, 1);                // told again
  rig.report(job, 7, RunReady{});  // a generation nobody ordered
  rig.report(job, 1, RunStopped{});
  rig.report(JobId{999}, 1, RunReady{});
  rig.settle();
  EXPECT_EQ(rig.job(job), before);
  EXPECT_THAT(rig.engine().orders_of(job), SizeIs(2));
  rig.end_well(job, 2);
  rig.end_well(job, 2);
  EXPECT_THAT(rig.records("job_released"), SizeIs(1));
  EXPECT_EQ(rig.phase(job), "finished");
}

TEST(Controller, AJobThatFinishedJustBeforeAChangeHasFinished) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["x"],"duration":"6m","retries":3})");
  rig.settle();
  rig.fail(job, 1);
  rig.settle();
  ASSERT_THAT(rig.engine().orders_of(job), SizeIs(2));
  rig.end_well(job, 1);  // the engine sends it only for a run that ended by itself
  EXPECT_EQ(rig.phase(job), "finished");
  const auto orders = rig.engine().orders_of(job);
  ASSERT_THAT(orders, SizeIs(3)) << "what began since must stop";
  EXPECT_EQ(orders.back().generation, 3U);
  EXPECT_THAT(orders.back().gpus, IsEmpty());
  EXPECT_THAT(rig.engine().forgotten(), IsEmpty());
  rig.report(job, 3, RunStopped{});
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(job));
}

TEST(Controller, AnEndThatIsToldAgainIsConfirmedAgain) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(kSixMinutes);
  rig.settle();
  rig.end_well(job, 1);
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(job));
  // Killed before the engine had forgotten it: it asks again, and would at every start.
  rig.restart();
  EXPECT_THAT(rig.engine().standing(), IsEmpty());
  rig.end_well(job, 1);
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(job, job));
  EXPECT_EQ(rig.phase(job), "finished");
  // And one the store does not know: it was restored from an older backup.
  rig.end_well(JobId{77}, 1);
  EXPECT_THAT(rig.engine().forgotten(), Contains(JobId{77}));
}

TEST(Controller, AfterARestartTheOrdersAreTheSame) {
  Rig rig{small_cluster(1, 2)};
  const JobId runs = rig.accept(kSixMinutes);
  const JobId cancelled = rig.accept(kWhenever);
  rig.settle();
  const JobId waits = rig.accept(R"({"name":"big","command":["x"],"duration":"6m","gpus":2})");
  rig.report(runs, 1, RunReady{});
  rig.cancel(cancelled);
  rig.settle();
  const auto before = rig.engine().orders_of(runs);
  ASSERT_THAT(before, SizeIs(1));
  const auto view = rig.job(runs);
  rig.restart();
  EXPECT_EQ(rig.engine().starts(), 2);
  const auto standing = rig.engine().standing();
  ASSERT_THAT(standing, SizeIs(1)) << "neither the cancelled job nor the one that waits";
  EXPECT_EQ(standing[0].job, runs);
  EXPECT_EQ(standing[0].generation, before[0].generation);
  EXPECT_EQ(standing[0].gpus, before[0].gpus);
  EXPECT_EQ(*standing[0].launch, *before[0].launch);
  rig.settle();
  EXPECT_EQ(rig.job(runs), view);
  EXPECT_THAT(rig.engine().orders_of(runs), SizeIs(1)) << "nothing is ordered anew";
  // The stop of the cancelled one was not confirmed.
  rig.report(cancelled, 2, RunStopped{});
  EXPECT_THAT(rig.engine().forgotten(), ElementsAre(cancelled));
  rig.end_well(runs, 1);
  rig.settle();
  EXPECT_EQ(rig.phase(waits), "running");
}

TEST(Controller, ADrainedNodeIsEmptiedAndThePromiseKept) {
  Rig rig{small_cluster(2, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["x"],"duration":"6m","deadline":"1h"})");
  rig.settle();
  const auto first = rig.engine().orders_of(job);
  ASSERT_THAT(first, SizeIs(1));
  const NodeId node = first[0].gpus.at(0).node;
  const NodeAnswer answer = rig.drain(node);
  EXPECT_TRUE(answer.changed);
  EXPECT_THAT(answer.at_risk, IsEmpty());
  EXPECT_FALSE(rig.drain(node).changed) << "it is so already";
  rig.settle();
  const auto moved = rig.engine().orders_of(job);
  ASSERT_FALSE(moved.empty());
  ASSERT_THAT(moved.back().gpus, SizeIs(1));
  EXPECT_NE(moved.back().gpus[0].node, node);
  for (const NodeUse& use : rig.nodes()) {
    const bool is_drained = rig.controller().node_named(use.name) == node;
    EXPECT_EQ(use.is_up, !is_drained);
    EXPECT_THAT(use.users, SizeIs(is_drained ? 0 : 1));
  }
}

TEST(Controller, ADrainTellsWhichPromisesAreAtRisk) {
  Rig rig{small_cluster(2, 1)};
  const JobId one = rig.accept(kSixMinutes);
  const JobId two = rig.accept(kSixMinutes);
  rig.settle();
  rig.report(one, 1, RunReady{});
  rig.report(two, 1, RunReady{});
  const NodeAnswer answer = rig.drain(NodeId{1});
  EXPECT_TRUE(answer.changed);
  ASSERT_THAT(answer.at_risk, SizeIs(1));
  EXPECT_EQ(rig.job(answer.at_risk[0]).at("at_risk"), true);
  EXPECT_TRUE(rig.drain(NodeId{1}, false).changed);
  EXPECT_FALSE(rig.drain(NodeId{1}, false).changed);
  EXPECT_FALSE(rig.job(answer.at_risk[0]).contains("at_risk")) << "it can be kept after all";
  EXPECT_FALSE(rig.drain(NodeId{99}).changed);
}

// ---- The store cannot be written

class ControllerWithoutDisk : public ::testing::Test {
 protected:
  static constexpr int kFull = 13;  // SQLITE_FULL

  void wait_until_healthy() {
    // The loop sees at once, or within a second of its own, that it can write again.
    for (int i = 0; i < 600 && !rig_.controller().health().is_ok; ++i) {
      rig_.nodes();
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    EXPECT_TRUE(rig_.controller().health().is_ok) << rig_.controller().health().detail;
  }

  FaultyVfs disk_{"controller-full"};
  Rig rig_{small_cluster(1, 2), "controller-full"};
};

TEST_F(ControllerWithoutDisk, NothingHasHappenedUntilItCanBeWritten) {
  const JobId job = rig_.accept(kSixMinutes);
  rig_.settle();
  rig_.report(job, 1, RunReady{});
  const auto view = rig_.job(job);
  const auto orders = rig_.engine().orders().size();
  disk_.fail_from(1, kFull);
  EXPECT_EQ(rig_.submit(kWhenever, "key").kind, Kind::unavailable);
  EXPECT_FALSE(rig_.controller().health().is_ok);
  EXPECT_THAT(rig_.controller().health().detail, Not(IsEmpty()));
  EXPECT_EQ(rig_.submit(kWhenever, "key").kind, Kind::unavailable);
  EXPECT_TRUE(rig_.cancel(job).is_unavailable);
  EXPECT_TRUE(rig_.drain(NodeId{1}).is_unavailable);
  EXPECT_EQ(rig_.jobs(), 1u);
  EXPECT_EQ(rig_.job(job), view);
  EXPECT_EQ(rig_.engine().orders().size(), orders);
  for (const NodeUse& use : rig_.nodes()) EXPECT_TRUE(use.is_up);
  disk_.heal();
  wait_until_healthy();
  EXPECT_EQ(rig_.accept(kWhenever, "key"), JobId{2}) << "no id and no key was used up";
  EXPECT_EQ(rig_.job(job), view);
  rig_.settle();
  EXPECT_EQ(rig_.phase(JobId{2}), "running");
  EXPECT_FALSE(rig_.cancel(job).is_unavailable);
  EXPECT_EQ(rig_.phase(job), "cancelled");
}

TEST_F(ControllerWithoutDisk, TheBatchThatFailedLeavesNoTraceInWhatIsShown) {
  rig_.accept(kSixMinutes);
  rig_.settle();
  Waiting<SubmitAnswer> submitted;
  Waiting<std::vector<NodeUse>> nodes;
  {
    const BusyLoop busy{rig_.controller()};
    disk_.fail_from(1, kFull);
    rig_.clocks().pass(seconds{5});
    rig_.controller().submit(submission_of(kWhenever), submitted.callback());
    rig_.controller().nodes(nodes.callback());
  }
  EXPECT_EQ(submitted.get().kind, Kind::unavailable);
  std::size_t users = 0;
  for (const NodeUse& use : nodes.get()) users += use.users.size();
  EXPECT_LE(users, 1u) << "the second job never came";
  const auto dry = rig_.dry_run(kWhenever);
  if (!dry) {
    EXPECT_EQ(dry.error().code, ErrorCode::unavailable);
  }
  disk_.heal();
  wait_until_healthy();
  users = 0;
  for (const NodeUse& use : rig_.nodes()) users += use.users.size();
  EXPECT_EQ(users, 1u);
}

TEST_F(ControllerWithoutDisk, ReportsAreKeptAndCountOnce) {
  const JobId job = rig_.accept(R"({"name":"a","command":["x"],"duration":"6m","retries":9})");
  const JobId other = rig_.accept(kWhenever);
  rig_.settle();
  disk_.fail_from(1, kFull);
  rig_.fail(job, 1);
  rig_.settle();
  rig_.end_well(other, 1);
  rig_.settle();
  EXPECT_THAT(rig_.engine().orders_of(job), SizeIs(1));
  EXPECT_THAT(rig_.engine().forgotten(), IsEmpty()) << "its end is not safely known";
  disk_.heal();
  wait_until_healthy();
  rig_.settle();
  EXPECT_EQ(rig_.job(job).at("restarts"), 1) << "each attempt to store it counted";
  EXPECT_THAT(rig_.engine().orders_of(job), SizeIs(2));
  EXPECT_EQ(rig_.phase(other), "finished");
  EXPECT_THAT(rig_.engine().forgotten(), ElementsAre(other));
}

TEST_F(ControllerWithoutDisk, WhatWasReportedFirstCountsFirst) {
  const JobId job = rig_.accept(kSixMinutes);
  rig_.settle();
  disk_.fail_from(1, kFull);
  rig_.end_well(job, 1);
  rig_.nodes();
  ASSERT_FALSE(rig_.controller().health().is_ok);
  {
    const BusyLoop busy{rig_.controller()};
    disk_.heal();
    rig_.controller().cancel(job, [](const auto&) {});
  }
  wait_until_healthy();
  EXPECT_EQ(rig_.phase(job), "finished") << "it had ended before anybody cancelled it";
}

TEST_F(ControllerWithoutDisk, CancelledJobsAreForgottenAllTheSame) {
  const JobId job = rig_.accept(kSixMinutes);
  rig_.settle();
  rig_.cancel(job);
  disk_.fail_from(1, kFull);
  EXPECT_EQ(rig_.submit(kWhenever).kind, Kind::unavailable);
  rig_.report(job, 2, RunStopped{});
  disk_.heal();
  wait_until_healthy();
  rig_.settle();
  EXPECT_THAT(rig_.engine().forgotten(), ElementsAre(job));
}

TEST_F(ControllerWithoutDisk, ARestartInTroubleLosesNothing) {
  const JobId job = rig_.accept(kSixMinutes);
  rig_.settle();
  disk_.fail_from(1, kFull);
  rig_.end_well(job, 1);
  rig_.settle();
  rig_.close();
  disk_.heal();
  rig_.open();
  ASSERT_THAT(rig_.engine().standing(), SizeIs(1));
  rig_.end_well(job, 1);  // the engine tells it again: nobody confirmed it
  EXPECT_EQ(rig_.phase(job), "finished");
}

TEST_F(ControllerWithoutDisk, AStepOfTheClockIsStoredLater) {
  const JobId job = rig_.accept(kSixMinutes);
  rig_.settle();
  disk_.fail_from(1, kFull);
  rig_.clocks().set_wall(hours{1});
  rig_.settle();
  EXPECT_FALSE(rig_.controller().health().is_ok);
  rig_.settle();
  disk_.heal();
  wait_until_healthy();
  rig_.settle();
  EXPECT_THAT(rig_.records("clock_step_seen"), SizeIs(1));
  rig_.end_well(job, 1);
  EXPECT_EQ(rig_.job(job).at("met_deadline"), true);
}

TEST_F(ControllerWithoutDisk, SnapshotsGoOnAfterwards) {
  rig_.close();
  rig_.config().snapshot_every = 10;
  rig_.open();
  // The disk fills up just when a snapshot is due: it is made and cannot be stored.
  for (int i = 0; i < 6; ++i) {
    Waiting<SubmitAnswer> next;
    rig_.controller().submit(submission_of(kWhenever), [&](const SubmitAnswer&) {
      disk_.fail_from(1, kFull);
      rig_.controller().submit(submission_of(kWhenever), next.callback());
    });
    EXPECT_EQ(next.get().kind, Kind::unavailable);
    rig_.nodes();
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    rig_.nodes();
    disk_.heal();
    wait_until_healthy();
  }
  const auto entry = rig_.controller().log_end().entry;
  // The worker needs a moment for each; a later one covers what came before.
  for (int i = 0; i < 200; ++i) {
    rig_.accept(kWhenever);
    if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  rig_.restart();
  EXPECT_GT(rig_.controller().recovery().snapshot_entry, entry);
}

// ---- Time

TEST(ControllerClock, ASetClockChangesNoDecision) {
  for (const hours step : {hours{1}, -hours{1}}) {
    Rig rig{small_cluster(1, 1)};
    const JobId job = rig.accept(kSixMinutes);
    rig.settle();
    rig.report(job, 1, RunReady{});
    const auto orders = rig.engine().orders().size();
    rig.clocks().set_wall(step);
    rig.settle();
    EXPECT_THAT(rig.records("clock_step_seen"), SizeIs(1));
    EXPECT_EQ(rig.engine().orders().size(), orders);
    EXPECT_FALSE(rig.job(job).contains("at_risk"));
    // Deadlines are measured from the clock as it is now.
    const auto now = formats::format_time(rig.clocks().wall() + minutes{8});
    EXPECT_EQ(
        rig.submit(R"({"name":"b","command":["x"],"duration":"1m","deadline":")" + now + R"("})")
            .kind,
        Kind::accepted);
    rig.pass(minutes{5});
    rig.end_well(job, 1);
    EXPECT_EQ(rig.phase(job), "finished");
    EXPECT_EQ(rig.job(job).at("met_deadline"), true) << "it took five of ten minutes";
    EXPECT_THAT(rig.metrics().exposition(),
                ::testing::HasSubstr("weir_promises_ended_total{met=\"true\"} 1"));
  }
}

TEST(ControllerClock, AStepDuringARestartIsSeen) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(kSixMinutes);
  rig.settle();
  rig.close();
  rig.clocks().pass(minutes{1});
  rig.clocks().set_wall(-hours{1});
  rig.open();
  rig.settle();
  EXPECT_THAT(rig.records("clock_step_seen"), SizeIs(1));
  EXPECT_FALSE(rig.job(job).contains("at_risk"));
  rig.pass(minutes{5});
  rig.end_well(job, 1);
  EXPECT_EQ(rig.job(job).at("met_deadline"), true);
}

// ---- Load, stop, history

TEST(Controller, TurnsAwayMoreThanItCanHold) {
  Rig rig{small_cluster(1, 1)};
  rig.close();
  rig.config().most_waiting = 2;
  rig.open();
  std::vector<Waiting<SubmitAnswer>> answers(4);
  {
    const BusyLoop busy{rig.controller()};
    for (auto& answer : answers)
      rig.controller().submit(submission_of(kWhenever), answer.callback());
    EXPECT_EQ(answers[2].get().kind, Kind::unavailable) << "at once";
    EXPECT_EQ(answers[3].get().kind, Kind::unavailable);
    rig.engine().report(JobId{9}, 1, RunEnded{});  // reports are never turned away
  }
  EXPECT_EQ(answers[0].get().kind, Kind::accepted);
  EXPECT_EQ(answers[1].get().kind, Kind::accepted);
  rig.nodes();
  EXPECT_THAT(rig.engine().forgotten(), Contains(JobId{9}));
}

TEST(Controller, EverybodyIsAnsweredWhenItStops) {
  Rig rig{small_cluster(1, 1)};
  std::vector<Waiting<SubmitAnswer>> answers(50);
  for (auto& answer : answers) rig.controller().submit(submission_of(kWhenever), answer.callback());
  rig.controller().stop();
  Waiting<SubmitAnswer> late;
  rig.controller().submit(submission_of(kWhenever), late.callback());
  EXPECT_EQ(late.get().kind, Kind::unavailable);
  EXPECT_FALSE(rig.controller().health().is_ok);
  std::size_t accepted = 0;
  for (auto& answer : answers) accepted += answer.get().kind == Kind::accepted ? 1 : 0;
  EXPECT_EQ(rig.jobs(), accepted);
}

TEST(Controller, OldJobsAndTheirLogsGo) {
  Rig rig{small_cluster(1, 1)};
  rig.close();
  rig.config().snapshot_every = 10;
  rig.config().keep_history = hours{1};
  rig.open();
  const JobId old = rig.accept(kSixMinutes, "key");
  rig.settle();
  rig.end_well(old, 1);
  rig.pass(hours{2});
  const JobId young = rig.accept(kSixMinutes);
  for (int i = 0; i < 200 && rig.engine().removed().empty(); ++i) {
    rig.accept(kWhenever);
    rig.pass(minutes{11});
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  EXPECT_THAT(rig.engine().removed(), Contains(old));
  EXPECT_THAT(rig.engine().removed(), Not(Contains(young)));
  EXPECT_EQ(rig.phase(old), "none");
  EXPECT_EQ(rig.phase(young), "running");
}

TEST(Controller, TellsOfEveryCommit) {
  Rig rig{small_cluster(1, 1)};
  std::mutex mutex;
  std::vector<std::uint64_t> ends;
  rig.controller().on_commit([&](LogPosition end) {
    const std::lock_guard lock{mutex};
    ends.push_back(end.record);
  });
  rig.accept(kSixMinutes);
  rig.settle();
  rig.controller().on_commit({});
  rig.nodes();
  const std::lock_guard lock{mutex};
  ASSERT_FALSE(ends.empty());
  EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
  EXPECT_EQ(ends.back(), rig.controller().log_end().record);
}

}  // namespace
}  // namespace weir::control
