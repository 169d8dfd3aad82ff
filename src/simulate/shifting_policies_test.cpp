// SPDX-License-Identifier: Apache-2.0
//
// Policies that let jobs wait for cleaner hours, played to the end.
#include <gtest/gtest.h>

#include "formats/cluster_shorthand.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

constexpr std::int64_t kAnHour = 3600;
const CurveKey kOneKind{"m", 1};

IterationRate each_second(std::int64_t iterations) {
  return IterationRate{iterations * 1'000'000};
}

// One node of two GPUs; jobs of one kind, whose second GPU adds half of the first, at two clocks.
struct ShiftingSite {
  explicit ShiftingSite(std::string policy) {
    cluster = *formats::parse_cluster_shorthand("1x2xA100");
    CurveBook book;
    book.curves.emplace(kOneKind, Curve{{{1, each_second(10)}, {2, each_second(15)}}});
    curves = {std::move(book)};
    config.policy = std::move(policy);
    config.planned_cost = config.real_cost = schedule::RescaleCost{Duration{0}, Duration{0}};
    EnergySetup energy;
    PowerBook power;
    power.tables[kOneKind] = {{1, 500, each_second(8), 100'000},
                              {1, 1000, each_second(10), 200'000},
                              {2, 500, each_second(12), 200'000},
                              {2, 1000, each_second(15), 400'000}};
    energy.books = {std::move(power)};
    config.energy = std::move(energy);
  }
  ShiftingSite& supply(std::vector<double> per_kwh) {
    config.energy->supply = SupplySeries{Time{}, std::chrono::hours{1}, std::move(per_kwh)};
    return *this;
  }
  ShiftingSite& job(std::int64_t iterations, std::int64_t submitted = 0) {
    TrainingArrival arrival;
    arrival.submitted = Time{from_seconds(submitted)};
    arrival.spec.name = "job";
    arrival.spec.curve = kOneKind;
    arrival.spec.iterations = iterations;
    workload.jobs.push_back(arrival);
    return *this;
  }
  TrainingOutcome run() const { return run_training(cluster, workload, curves, config); }
  // When each job began and ended, in seconds.
  std::vector<std::pair<std::int64_t, std::int64_t>> times() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (const TrainingJobOutcome& job : run().by_job) {
      all.emplace_back(job.started->time_since_epoch() / from_seconds(1),
                       job.finished->time_since_epoch() / from_seconds(1));
    }
    return all;
  }

  Cluster cluster;
  std::vector<CurveBook> curves;
  TrainingWorkload workload;
  TrainingRunConfig config;
};

using JobTimes = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(WaitAwhile, RunsInTheCleanestHourOfTheWindowAtItsFastest) {
  // An hour at 15 per second; two hours' window by default.
  const ShiftingSite site = ShiftingSite{"wait-awhile"}.supply({300, 100, 50, 300}).job(54'000);
  EXPECT_EQ(site.times(), (JobTimes{{kAnHour, 2 * kAnHour}}));
}

TEST(WaitAwhile, PausesInADirtyHourBetweenTwoCleanOnes) {
  ShiftingSite site = ShiftingSite{"wait-awhile"}.supply({100, 300, 100, 300}).job(2 * 54'000);
  site.config.training.caps.stretch_permille = 1500;
  EXPECT_EQ(site.times(), (JobTimes{{0, 3 * kAnHour}}));
  EXPECT_DOUBLE_EQ(site.run().by_job[0].gpu_seconds, 2 * 2 * kAnHour);
}

TEST(WaitAwhile, AWiderWindowReachesTheCleanerHour) {
  ShiftingSite site = ShiftingSite{"wait-awhile"}.supply({300, 100, 50, 300}).job(54'000);
  site.config.training.caps.stretch_permille = 3000;
  EXPECT_EQ(site.times(), (JobTimes{{2 * kAnHour, 3 * kAnHour}}));
}

TEST(WaitAwhile, TheShorterJobIsServedFirst) {
  // Both want the second hour, of which the first job then has the rest.
  ShiftingSite site =
      ShiftingSite{"wait-awhile"}.supply({300, 100, 300, 400}).job(54'000).job(27'000);
  site.config.training.caps.stretch_permille = 3000;
  EXPECT_EQ(site.times(), (JobTimes{{5400, 9000}, {kAnHour, 5400}}));
}

TEST(CarbonScaler, TakesOneGpuForLongerWhereHoursAreAlike) {
  // 36,000 iterations: 40 minutes on two GPUs, so an hour on one is within twice that.
  const ShiftingSite site = ShiftingSite{"carbon-scaler"}.supply({100}).job(36'000);
  EXPECT_EQ(site.times(), (JobTimes{{0, kAnHour}}));
  EXPECT_DOUBLE_EQ(site.run().by_job[0].gpu_seconds, kAnHour);
}

TEST(CarbonScaler, TakesTwoGpusInAHourThatIsCleanEnough) {
  const ShiftingSite site = ShiftingSite{"carbon-scaler"}.supply({300, 100, 300}).job(54'000);
  EXPECT_EQ(site.times(), (JobTimes{{kAnHour, 2 * kAnHour}}));
  EXPECT_DOUBLE_EQ(site.run().by_job[0].gpu_seconds, 2 * kAnHour);
}

TEST(CarbonScaler, WhoFindsLessThanItWantsTakesWhatIsLeft) {
  // In the clean first hour the long job wants two GPUs and the short one, served first, one.
  const ShiftingSite site =
      ShiftingSite{"carbon-scaler"}.supply({100, 1000, 1000, 1000, 1000}).job(108'000).job(36'000);
  EXPECT_EQ(site.times(), (JobTimes{{0, 3 * kAnHour}, {0, kAnHour}}));
  EXPECT_DOUBLE_EQ(site.run().by_job[0].gpu_seconds, 3 * kAnHour);
}

TEST(ShiftingPolicies, ObeyTheLimitsOfSizesAndClocks) {
  for (const char* policy : {"carbon-scaler", "wait-awhile"}) {
    ShiftingSite site = ShiftingSite{policy}.supply({100}).job(28'800);
    site.config.training.caps = {1, 500, 2000};
    EXPECT_EQ(site.times(), (JobTimes{{0, kAnHour}})) << policy;
    EXPECT_DOUBLE_EQ(site.run().by_job[0].gpu_seconds, kAnHour) << policy;
  }
}

TEST(ShiftingPolicies, RunAtOnceAndAsFastAsTheyCanWhereNothingIsKnownOfEnergy) {
  for (const char* policy : {"carbon-scaler", "wait-awhile"}) {
    ShiftingSite site = ShiftingSite{policy}.job(54'000);
    site.config.energy.reset();
    EXPECT_EQ(site.times(), (JobTimes{{0, kAnHour}})) << policy;
  }
}

}  // namespace
}  // namespace weir::simulate
