// SPDX-License-Identifier: Apache-2.0
//
// Jobs of which nobody knows how fast they are, in the live loop.
#include <gmock/gmock.h>

#include "control/controller_testing.h"

namespace weir::control {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;

std::string a_profiled_job(const std::string& name, const std::string& more) {
  return R"({"name":")" + name +
         R"(","command":["x"],"iterations":6000,"model":"m","reports_progress":true)" + more + "}";
}
constexpr const char* kProfiled = R"(,"profile":true,"deadline":"1h","retries":3)";

// The job makes so many iterations per second, for some seconds.
void work_at(Rig& rig, JobId job, std::int64_t rate) {
  const auto orders = rig.engine().orders_of(job);
  ASSERT_THAT(orders, Not(IsEmpty())) << job.value;
  const std::uint32_t generation = orders.back().generation;
  rig.report(job, generation, RunReady{});
  for (int second = 1; second <= 7; ++second) {
    rig.clocks().pass(seconds{1});
    RunProgress made;
    made.iterations = second * rate;
    made.elapsed = from_seconds(second);
    rig.report(job, generation, made);
  }
  rig.settle();
}

std::size_t gpus_of(Rig& rig, JobId job) {
  const auto orders = rig.engine().orders_of(job);
  return orders.empty() ? 0 : orders.back().gpus.size();
}

TEST(ControllerProfiling, MeasuresSizeAfterSizeAndThenPromises) {
  Rig rig{small_cluster(1, 8)};
  const JobId job = rig.accept(a_profiled_job("bert", kProfiled));
  EXPECT_EQ(rig.phase(job), "waiting");
  rig.settle();
  EXPECT_EQ(rig.job(job).at("profiling"), true);
  const JobId first{2};
  EXPECT_EQ(rig.job(first).at("name"), "bert.profile-1");
  EXPECT_EQ(gpus_of(rig, first), 1u);
  EXPECT_THAT(rig.engine().orders_of(first).front().launch->environment,
              Contains(std::pair<std::string, std::string>{"WEIR_PROFILING", "1"}));
  work_at(rig, first, 10);
  EXPECT_EQ(rig.phase(first), "cancelled") << "it has told enough";
  EXPECT_EQ(rig.phase(job), "waiting");
  const JobId second{3};
  EXPECT_EQ(gpus_of(rig, second), 2u);
  work_at(rig, second, 18);
  const JobId third{4};
  EXPECT_EQ(gpus_of(rig, third), 4u);
  work_at(rig, third, 18);
  EXPECT_EQ(rig.jobs(), 4u) << "four GPUs do not help, so eight are not tried";
  EXPECT_EQ(rig.phase(job), "running");
  EXPECT_EQ(rig.job(job).at("promised"), true);
  EXPECT_EQ(rig.job(job).at("curve").at("origin"), "profiled");
  EXPECT_EQ(rig.job(job).at("curve").at("rates"),
            nlohmann::json::parse(R"({"1":10.0,"2":18.0,"4":18.0})"));
  EXPECT_FALSE(rig.job(job).contains("profiling"));
  // The next of its kind is answered at once.
  const JobId next = rig.accept(a_profiled_job("next", kProfiled));
  EXPECT_EQ(rig.job(next).at("promised"), true);
}

TEST(ControllerProfiling, JobsOfOneKindAreMeasuredOnce) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_profiled_job("a", kProfiled));
  const JobId other = rig.accept(a_profiled_job("b", kProfiled));
  rig.settle();
  EXPECT_EQ(rig.jobs(), 3u);
  work_at(rig, JobId{2}, 10);
  EXPECT_EQ(rig.job(job).at("promised"), true);
  EXPECT_EQ(rig.job(other).at("promised"), true);
}

TEST(ControllerProfiling, TheNextIsMeasuredWhenTheFirstIsCancelled) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_profiled_job("a", kProfiled));
  const JobId other = rig.accept(a_profiled_job("b", kProfiled));
  rig.settle();
  rig.cancel(job);
  rig.settle();
  EXPECT_EQ(rig.phase(JobId{2}), "cancelled");
  EXPECT_EQ(rig.job(JobId{4}).at("name"), "b.profile-1");
  work_at(rig, JobId{4}, 10);
  EXPECT_EQ(rig.job(other).at("promised"), true);
}

TEST(ControllerProfiling, WhatWasMeasuredBeforeAFailureCounts) {
  Rig rig{small_cluster(1, 4)};
  const JobId job = rig.accept(a_profiled_job("a", kProfiled));
  rig.settle();
  work_at(rig, JobId{2}, 10);
  rig.fail(JobId{3}, rig.engine().orders_of(JobId{3}).back().generation);
  rig.settle();
  EXPECT_EQ(rig.job(job).at("curve").at("rates"), nlohmann::json::parse(R"({"1":10.0})"));
}

TEST(ControllerProfiling, AJobThatCannotBeMeasuredFailsAndSaysWhy) {
  Rig rig{small_cluster(1, 4)};
  const JobId job = rig.accept(a_profiled_job("a", kProfiled));
  rig.settle();
  rig.fail(JobId{2}, 1);
  rig.settle();
  EXPECT_EQ(rig.phase(job), "failed");
  EXPECT_EQ(rig.job(job).at("exit"), "it could not be measured on 1 GPU: exit code 1");
  EXPECT_EQ(rig.jobs(), 2u) << "retries are for the job itself";
}

TEST(ControllerProfiling, ARunThatTellsNothingIsGivenUp) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_profiled_job("a", kProfiled));
  rig.settle();
  rig.pass(minutes{11});
  rig.settle();
  EXPECT_EQ(rig.phase(JobId{2}), "cancelled");
  EXPECT_EQ(rig.phase(job), "failed");
}

TEST(ControllerProfiling, TakesOnlyGpusThatNobodyWasPromised) {
  Rig rig{small_cluster(1, 1)};
  const JobId promised =
      rig.accept(R"({"name":"p","command":["x"],"duration":"50m","deadline":"52m"})");
  rig.settle();
  const JobId job = rig.accept(a_profiled_job("a", R"(,"profile":true,"deadline":"5h")"));
  rig.settle();
  EXPECT_THAT(rig.engine().orders_of(JobId{3}), IsEmpty());
  EXPECT_EQ(rig.phase(JobId{3}), "queued");
  rig.end_well(promised, 1);
  rig.settle();
  work_at(rig, JobId{3}, 10);
  EXPECT_EQ(rig.job(job).at("promised"), true);
}

TEST(ControllerProfiling, BeginsAnewAfterARestart) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_profiled_job("a", kProfiled));
  rig.settle();
  EXPECT_EQ(rig.phase(JobId{2}), "running");
  rig.restart();
  rig.settle();
  EXPECT_EQ(rig.phase(JobId{2}), "cancelled") << "nobody waits for it any more";
  work_at(rig, JobId{3}, 10);
  EXPECT_EQ(rig.job(job).at("promised"), true);
  rig.restart();
  rig.settle();
  EXPECT_EQ(rig.jobs(), 3u);
}

TEST(ControllerProfiling, WithoutADeadlineAJobRunsWhereItAsksToAndIsMeasuredThere) {
  Rig rig{small_cluster(1, 4)};
  const JobId job = rig.accept(a_profiled_job("a", R"(,"gpus":2)"));
  rig.settle();
  EXPECT_EQ(gpus_of(rig, job), 2u);
  EXPECT_FALSE(rig.job(job).contains("expected_finish")) << "nobody can tell";
  const JobId hasty = rig.accept(a_profiled_job("hasty", R"(,"deadline":"30m")"));
  EXPECT_EQ(rig.phase(hasty), "waiting") << "nobody is promised anything on a guess";
  EXPECT_THAT(rig.job(hasty).at("reason").get<std::string>(), HasSubstr("state its throughput"));
  work_at(rig, job, 8);
  EXPECT_EQ(rig.job(hasty).at("promised"), true);
  EXPECT_EQ(rig.job(hasty).at("curve").at("origin"), "measured");
  EXPECT_EQ(rig.job(hasty).at("curve").at("rates"), nlohmann::json::parse(R"({"2":8.0})"));
  EXPECT_EQ(rig.job(job).at("rate"), 8);
  EXPECT_EQ(rig.job(job).at("speed"), 1.0);
  EXPECT_FALSE(rig.job(job).contains("curve")) << "it was planned with none";
}

TEST(ControllerProfiling, ADryRunSaysTheSame) {
  Rig rig{small_cluster(1, 4)};
  const auto answer = rig.dry_run(a_profiled_job("a", R"(,"gpus":3)"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->answer.kind, DryRunAnswer::Kind::queued);
  const JobId job = rig.accept(a_profiled_job("a", R"(,"gpus":3)"));
  rig.settle();
  EXPECT_EQ(gpus_of(rig, job), 2u);
}

TEST(ControllerProfiling, AJobThatTellsNothingWaits) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"a","command":["x"],"iterations":6000,"model":"m"})");
  rig.settle();
  EXPECT_EQ(rig.phase(job), "waiting");
}

}  // namespace
}  // namespace weir::control
