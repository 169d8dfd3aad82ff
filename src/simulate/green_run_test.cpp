// SPDX-License-Identifier: Apache-2.0
//
// Whole runs of policies that mind energy.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "simulate/energy_run_testing.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

TrainingOutcome play_green(const TrainingRunConfig& config, int jobs = 40) {
  return run_training(energy_cluster(), energy_jobs(jobs), {energy_curves()}, config);
}

TrainingRunConfig at_price(double seconds_per_unit) {
  TrainingRunConfig config = energy_run("green");
  config.energy->terms.price_nanos = std::llround(seconds_per_unit * 1e9);
  return config;
}

// As much work as comes, in GPU-seconds on one GPU.
std::int64_t all_work(int jobs) {
  std::int64_t sum = 0;
  for (const TrainingArrival& arrival : energy_jobs(jobs).jobs) sum += arrival.spec.iterations / 10;
  return sum;
}

TrainingRunConfig with_budget(double units, int jobs = 40) {
  TrainingRunConfig config = energy_run("green");
  config.energy->terms.budget_micros = std::llround(units * 1e6);
  config.energy->terms.expected_gpu_seconds = all_work(jobs);
  return config;
}

TEST(GreenRun, AHigherPriceUsesLessAndTakesLonger) {
  double units = std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (const double price : {0.0, 20.0, 100.0}) {
    const TrainingOutcome outcome = play_green(at_price(price));
    EXPECT_EQ(outcome.finished, outcome.jobs);
    EXPECT_LT(outcome.energy->units, units);
    EXPECT_GT(outcome.total_completion_seconds, seconds);
    units = outcome.energy->units;
    seconds = outcome.total_completion_seconds;
  }
}

TEST(GreenRun, ABudgetIsMetWithinAFewPercent) {
  const double most = play_green(at_price(0)).energy->units;
  for (const double share : {0.75, 0.85, 0.95}) {
    const TrainingOutcome outcome = play_green(with_budget(share * most));
    EXPECT_EQ(outcome.finished, outcome.jobs);
    EXPECT_LT(outcome.energy->units, 1.03 * share * most);
    EXPECT_GT(outcome.energy->units, 0.9 * share * most);
  }
}

TEST(GreenRun, ABudgetThatCannotBeSpentChangesNothing) {
  std::vector<Record> without;
  std::vector<Record> with;
  const auto note = [](std::vector<Record>& records) {
    return [&records](const Record& record) {
      if (!std::holds_alternative<EnergyPriceSet>(record.what)) records.push_back(record);
    };
  };
  TrainingRunConfig plain = energy_run("green");
  plain.on_record = note(without);
  play_green(plain);
  TrainingRunConfig rich = with_budget(1e9);
  rich.on_record = note(with);
  play_green(rich);
  EXPECT_EQ(without, with);
}

TEST(GreenRun, ScalingSupplyAndPriceTogetherChangesNothing) {
  TrainingRunConfig scaled = at_price(0.5);
  std::vector<double> values = scaled.energy->supply.values();
  for (double& value : values) value *= 4;
  scaled.energy->supply = SupplySeries{Time{}, std::chrono::hours{1}, values};
  const TrainingOutcome outcome = play_green(scaled);
  const TrainingOutcome same = play_green(at_price(2));
  EXPECT_EQ(outcome.total_completion_seconds, same.total_completion_seconds);
  EXPECT_NEAR(outcome.energy->units, 4 * same.energy->units, 1e-9 * outcome.energy->units);
}

TEST(GreenRun, ASpentBudgetPausesJobsWhereTheOperatorWantsThat) {
  const double most = play_green(at_price(0)).energy->units;
  TrainingRunConfig overdraws = with_budget(0.2 * most);
  TrainingRunConfig pauses = overdraws;
  pauses.energy->terms.when_spent = WhenSpent::pause;
  TrainingRunConfig saves = overdraws;
  saves.energy->terms.when_spent = WhenSpent::min_power;
  const TrainingOutcome overdrawn = play_green(overdraws);
  const TrainingOutcome paused = play_green(pauses);
  const TrainingOutcome saved = play_green(saves);
  EXPECT_EQ(paused.finished, paused.jobs);  // nobody waits for ever
  EXPECT_GT(paused.total_completion_seconds, 2 * overdrawn.total_completion_seconds);
  EXPECT_LE(saved.energy->units, overdrawn.energy->units);
}

TEST(GreenRun, APowerCapIsNeverExceeded) {
  const double peak = play_green(at_price(0)).energy->peak_watts;
  for (const double share : {0.3, 0.5, 0.8}) {
    TrainingRunConfig config = at_price(0);
    config.energy->terms.cap_milliwatts = std::llround(1000 * share * peak);
    const TrainingOutcome outcome = play_green(config);
    EXPECT_EQ(outcome.finished, outcome.jobs);
    EXPECT_LE(outcome.energy->peak_watts, share * peak);
    EXPECT_GT(outcome.energy->peak_watts, 0.5 * share * peak);
  }
}

TEST(GreenRun, UnderACapThatNoJobFitsBelowARunEndsWithThemUndone) {
  TrainingRunConfig config = at_price(0);
  config.energy->terms.cap_milliwatts = 100'000;
  const TrainingOutcome outcome = play_green(config, 5);
  EXPECT_EQ(outcome.finished, 0);
  EXPECT_EQ(outcome.energy->units, 0);
}

TEST(GreenRun, PromisesAreKeptUnderACapAndABudget) {
  TrainingWorkload workload = energy_jobs(40);
  for (std::size_t i = 0; i < workload.jobs.size(); i += 2) {
    TrainingArrival& arrival = workload.jobs[i];
    arrival.spec.deadline_kind = DeadlineKind::hard;
    arrival.spec.deadline = arrival.submitted + from_seconds(4 * 3600);
  }
  TrainingRunConfig config = with_budget(1000);
  config.energy->terms.cap_milliwatts = 3'700'000;
  const TrainingOutcome outcome =
      run_training(energy_cluster(), workload, {energy_curves()}, config);
  EXPECT_GT(outcome.admitted, 5);
  EXPECT_EQ(outcome.missed_after_admission, 0);
  EXPECT_LE(outcome.energy->peak_watts, 3700);
}

TEST(GreenRun, CapsSaveEnergyToo) {
  TrainingRunConfig free = energy_run("elastic-capped");
  TrainingRunConfig capped = free;
  capped.training.caps.gpus = 2;
  capped.training.caps.clock_permille = 500;
  EXPECT_LT(play_green(capped).energy->units, 0.8 * play_green(free).energy->units);
}

TEST(GreenRun, CapsFollowABudgetAlongTheirPath) {
  TrainingRunConfig config = energy_run("elastic-capped");
  const double most = play_green(config).energy->units;
  config.energy->terms.budget_micros = std::llround(0.7 * most * 1e6);
  config.energy->terms.expected_gpu_seconds = all_work(40);
  for (const std::int32_t gpus : {8, 4, 2, 1}) {
    for (const std::int32_t clock : {1000, 750, 500}) {
      schedule::EnergyCaps caps;
      caps.gpus = gpus;
      caps.clock_permille = clock;
      config.training.cap_path.push_back(caps);
    }
  }
  const TrainingOutcome outcome = play_green(config);
  EXPECT_EQ(outcome.finished, outcome.jobs);
  EXPECT_LT(outcome.energy->units, 0.8 * most);
}

}  // namespace
}  // namespace weir::simulate
