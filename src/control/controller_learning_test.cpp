// SPDX-License-Identifier: Apache-2.0
//
// What the loop learns from the reports of jobs, and what becomes of it.
#include <gmock/gmock.h>

#include "control/controller_testing.h"
#include "control/progress_testing.h"

namespace weir::control {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::progress;
using testing::Rig;
using ::testing::SizeIs;
using testing::small_cluster;

std::string a_learning_job(const std::string& name, const std::string& more = "") {
  return R"({"name":")" + name + R"(","command":["x"],"iterations":6000,"model":"m")" + more + "}";
}
constexpr const char* kStated = R"(,"throughput":{"1":10,"2":19})";

// The job makes so many iterations per second, for some seconds.
void work_at(Rig& rig, JobId job, std::uint32_t generation, std::int64_t rate,
             std::int64_t before = 0) {
  rig.report(job, generation, RunReady{});
  for (int second = 1; second <= 12; ++second) {
    rig.clocks().pass(seconds{1});
    rig.report(job, generation, progress(before + second * rate, second));
  }
}

std::vector<std::string> measured_curves(Rig& rig) {
  auto lines = rig.records("curve_adopted");
  std::erase_if(lines, [](const std::string& line) {
    return line.find("\"measured\"") == std::string::npos;
  });
  return lines;
}

TEST(ControllerLearning, WhatAJobReallyMakesIsItsCurve) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_learning_job("t", kStated));
  rig.settle();
  work_at(rig, job, 1, 5);
  const auto curves = measured_curves(rig);
  ASSERT_THAT(curves, SizeIs(1));
  EXPECT_THAT(curves[0], HasSubstr("[1,5000000]")) << "as measured";
  EXPECT_THAT(curves[0], HasSubstr("[2,9500000]")) << "in the shape that was stated";
  EXPECT_EQ(rig.job(job).at("speed"), 1.0) << "of the curve that is known now";
}

TEST(ControllerLearning, WhatIsStatedDoesNotOverwriteWhatWasMeasured) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_learning_job("t", kStated));
  rig.settle();
  work_at(rig, job, 1, 5);
  const std::size_t adopted = rig.records("curve_adopted").size();
  rig.accept(a_learning_job("again", kStated));
  EXPECT_THAT(rig.records("curve_adopted"), SizeIs(adopted)) << "no news";
  rig.accept(a_learning_job("larger", R"(,"throughput":{"1":20,"4":40})"));
  const auto curves = measured_curves(rig);
  EXPECT_THAT(curves, SizeIs(2));
  EXPECT_THAT(curves.back(), HasSubstr("[1,5000000],[2,9500000],[4,"));
  // 6000 iterations take 20 minutes, not 10.
  const auto answer =
      rig.submit(a_learning_job("hasty", R"(,"deadline":"11m","throughput":{"1":10})"));
  EXPECT_EQ(answer.kind, SubmitAnswer::Kind::refused);
  const auto asked =
      rig.dry_run(a_learning_job("hasty", R"(,"deadline":"11m","throughput":{"1":10})"));
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->answer.kind, DryRunAnswer::Kind::refused);
}

TEST(ControllerLearning, AJobShowsTheCurveItWasPlannedWith) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_learning_job("t", kStated));
  EXPECT_EQ(rig.job(job).at("curve").at("origin"), "stated");
  EXPECT_EQ(rig.job(job).at("curve").at("rates").at("2"), 19);
  rig.settle();
  work_at(rig, job, 1, 5);
  EXPECT_EQ(rig.job(job).at("curve").at("origin"), "stated") << "as it was then";
  EXPECT_EQ(rig.job(job).at("rate"), 5);
  const JobId second = rig.accept(a_learning_job("again", kStated));
  EXPECT_EQ(rig.job(second).at("curve").at("origin"), "measured");
  EXPECT_EQ(rig.job(second).at("curve").at("rates").at("1"), 5);
  const auto refused = rig.submit(a_learning_job("hasty", R"(,"deadline":"11m")"));
  EXPECT_THAT(refused.view, HasSubstr(R"("curve":{"origin":"measured","rates":{"1":5)"));
  const JobId waiting =
      rig.accept(R"({"name":"w","command":["x"],"iterations":9,"model":"new","deadline":"1h"})");
  EXPECT_FALSE(rig.job(waiting).contains("curve"));
  rig.accept(R"({"name":"k","command":["x"],"iterations":9,"model":"new","throughput":{"1":3}})");
  EXPECT_EQ(rig.job(waiting).at("curve").at("origin"), "assumed");
}

TEST(ControllerLearning, ShowsWhatTheLastChangeTookAndTheLoss) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_learning_job("t", kStated));
  rig.settle();
  RunReady ready;
  ready.times.save = std::chrono::milliseconds{1500};
  ready.times.import = seconds{2};
  ready.times.is_warm = true;
  rig.report(job, 1, ready);
  EXPECT_EQ(rig.job(job).at("last_change").at("save"), 1.5);
  EXPECT_EQ(rig.job(job).at("last_change").at("warm"), true);
  EXPECT_THAT(rig.metrics().exposition(),
              HasSubstr(R"(weir_change_seconds_count{part="import",warm="true"} 1)"));
  RunProgress loss = progress(100, 3);
  loss.loss = 0.25;
  rig.report(job, 1, loss);
  EXPECT_EQ(rig.job(job).at("loss"), 0.25);
}

TEST(ControllerLearning, ChangesCostWhatTheyReallyTake) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(
      a_learning_job("t", R"(,"throughput":{"1":10},"retries":9,"reports_progress":true)"));
  rig.settle();
  ASSERT_THAT(rig.records("rescale_cost_adopted"), SizeIs(1)) << "as configured";
  RunReady ready;
  ready.times.import = seconds{20};
  for (std::uint32_t generation = 1; generation <= 3; ++generation) {
    rig.report(job, generation, ready);
    rig.fail(job, generation);
  }
  const auto costs = rig.records("rescale_cost_adopted");
  ASSERT_THAT(costs, SizeIs(2));
  EXPECT_THAT(costs[1], HasSubstr("20000000000"));
  rig.restart();
  rig.settle();
  EXPECT_THAT(rig.records("rescale_cost_adopted"), SizeIs(2)) << "what was measured stays";
}

TEST(ControllerLearning, AJobThatDoesNotSayWhenItWorksTellsNothingOfWhatAChangeTakes) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_learning_job("t", R"(,"throughput":{"1":10},"retries":9)"));
  rig.settle();
  RunReady ready;
  ready.times.start = std::chrono::milliseconds{20};
  for (std::uint32_t generation = 1; generation <= 5; ++generation) {
    rig.report(job, generation, ready);
    rig.fail(job, generation);
  }
  EXPECT_THAT(rig.records("rescale_cost_adopted"), SizeIs(1)) << "as configured";
}

TEST(ControllerLearning, WhatWasLearntHoldsForAllPoolsWithSuchGpus) {
  Cluster cluster = small_cluster(3, 1);
  cluster.nodes[1].pool = cluster.pool_named("second");
  cluster.nodes[2].pool = cluster.pool_named("third");
  cluster.nodes[2].model = *cluster.models.intern("another");
  Rig rig{std::move(cluster)};
  const JobId job = rig.accept(a_learning_job("t", kStated));
  rig.settle();
  work_at(rig, job, 1, 5);
  EXPECT_THAT(measured_curves(rig), SizeIs(2));
}

TEST(ControllerLearning, ACurveSurvivesARestart) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(a_learning_job("t", kStated));
  rig.settle();
  work_at(rig, job, 1, 5);
  rig.restart();
  EXPECT_EQ(rig.submit(a_learning_job("hasty", R"(,"deadline":"11m")")).kind,
            SubmitAnswer::Kind::refused);
}

TEST(ControllerLearning, ProgramsThatDoNotTrainAreNotMeasured) {
  Rig rig{small_cluster(1, 1)};
  const JobId job = rig.accept(R"({"name":"p","command":["x"],"duration":"6m"})");
  rig.settle();
  work_at(rig, job, 1, 5);
  EXPECT_THAT(measured_curves(rig), IsEmpty());
}

}  // namespace
}  // namespace weir::control
