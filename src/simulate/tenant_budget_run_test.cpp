// SPDX-License-Identifier: Apache-2.0
//
// Whole runs in which tenants have budgets of their own, and in which hours to come are forecast.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "simulate/energy_run_testing.h"
#include "simulate/training_run.h"

namespace weir::simulate {
namespace {

constexpr int kJobs = 60;
constexpr double kPlenty = 1e9;

// Every other job is of vision, the others of speech.
TrainingWorkload shared_jobs() {
  TrainingWorkload workload = energy_jobs(kJobs);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    workload.jobs[i].spec.tenant = i % 2 == 0 ? "vision" : "speech";
  return workload;
}

// GPU-seconds on one GPU, of a tenant or of all.
std::int64_t work_of_tenant(const std::string& tenant) {
  std::int64_t sum = 0;
  for (const TrainingArrival& arrival : shared_jobs().jobs) {
    if (tenant.empty() || arrival.spec.tenant == tenant) sum += arrival.spec.iterations / 10;
  }
  return sum;
}

// By name, in units; the empty name is the cluster.
TrainingRunConfig with_budgets(const std::map<std::string, double>& units) {
  TrainingRunConfig config = energy_run("green");
  EnergyTerms& terms = config.energy->terms;
  terms.until = Time{} + std::chrono::hours{24 * 30};
  for (const auto& [tenant, amount] : units) {
    const std::int64_t micros = std::llround(amount * 1e6);
    if (tenant.empty()) {
      terms.budget_micros = micros;
      terms.expected_gpu_seconds = work_of_tenant("");
    } else {
      terms.tenants.push_back({tenant, micros, work_of_tenant(tenant)});
    }
  }
  return config;
}

TrainingOutcome play(const TrainingRunConfig& config) {
  return run_training(energy_cluster(), shared_jobs(), {energy_curves()}, config);
}

double used_by(const TrainingOutcome& outcome, const std::string& tenant) {
  for (const TenantEnergyOutcome& one : outcome.energy->tenants) {
    if (one.name == tenant) return one.units;
  }
  ADD_FAILURE() << "no budget of " << tenant;
  return 0;
}

double mean_completion(const TrainingOutcome& outcome, const std::string& tenant) {
  const TrainingWorkload workload = shared_jobs();
  double sum = 0;
  int jobs = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    if (workload.jobs[i].spec.tenant != tenant || !outcome.by_job[i].finished) continue;
    sum += to_seconds(*outcome.by_job[i].finished - outcome.by_job[i].submitted);
    ++jobs;
  }
  return sum / jobs;
}

TEST(TenantBudgetRun, ATenantStaysWithinItsOwnAndOthersDoNotPayForIt) {
  const TrainingOutcome free = play(with_budgets({{"speech", kPlenty}, {"vision", kPlenty}}));
  const double most = used_by(free, "vision");
  for (const double share : {0.75, 0.85, 0.95}) {
    const TrainingOutcome outcome =
        play(with_budgets({{"speech", kPlenty}, {"vision", share * most}}));
    EXPECT_EQ(outcome.finished, outcome.jobs);
    EXPECT_LT(used_by(outcome, "vision"), 1.03 * share * most);
    EXPECT_GT(used_by(outcome, "vision"), 0.85 * share * most);
    EXPECT_GT(mean_completion(outcome, "vision"), mean_completion(free, "vision"));
    EXPECT_LT(mean_completion(outcome, "speech"), 1.05 * mean_completion(free, "speech"));
  }
}

TEST(TenantBudgetRun, TheClustersBudgetHoldsBesideTheTenants) {
  const TrainingOutcome free = play(with_budgets({{"speech", kPlenty}, {"vision", kPlenty}}));
  const double all = 0.85 * free.energy->units;
  const double own = 0.7 * used_by(free, "vision");
  const TrainingOutcome outcome = play(with_budgets({{"", all}, {"vision", own}}));
  EXPECT_LT(outcome.energy->units, 1.03 * all);
  EXPECT_LT(used_by(outcome, "vision"), 1.03 * own);
  const TrainingOutcome alone = play(with_budgets({{"", all}}));
  EXPECT_LT(mean_completion(outcome, "speech"), mean_completion(alone, "speech"))
      << "what vision may not use, others may";
}

TEST(TenantBudgetRun, BudgetsThatCannotBeSpentChangeNothing) {
  std::vector<Record> without;
  std::vector<Record> with;
  const auto note = [](std::vector<Record>& records) {
    return [&records](const Record& record) {
      if (!std::holds_alternative<EnergyPriceSet>(record.what)) records.push_back(record);
    };
  };
  TrainingRunConfig plain = with_budgets({});
  plain.on_record = note(without);
  play(plain);
  TrainingRunConfig rich = with_budgets({{"speech", kPlenty}, {"vision", kPlenty}});
  rich.on_record = note(with);
  play(rich);
  EXPECT_EQ(without, with);
}

TEST(TenantBudgetRun, WhereASpentBudgetPausesOnlyItsTenantWaits) {
  TrainingRunConfig config = with_budgets({{"vision", 0}});
  config.energy->terms.when_spent = WhenSpent::pause;
  const TrainingOutcome outcome = play(config);
  EXPECT_EQ(outcome.finished, outcome.jobs) << "nobody waits for ever";
  const TrainingWorkload workload = shared_jobs();
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Duration waited = *outcome.by_job[i].started - outcome.by_job[i].submitted;
    if (workload.jobs[i].spec.tenant == "vision") {
      EXPECT_GE(waited, config.energy->terms.longest_pause) << i;
    } else {
      EXPECT_LT(waited, config.energy->terms.longest_pause) << i;
    }
  }
}

// What jobs use with their shares of nodes, less what nobody uses, is what the site uses.
TEST(TenantBudgetRun, WhatTenantsUseAddsUpToTheSite) {
  const TrainingOutcome outcome = play(with_budgets({{"speech", kPlenty}, {"vision", kPlenty}}));
  const double sum = used_by(outcome, "speech") + used_by(outcome, "vision");
  EXPECT_LE(sum, outcome.energy->units * (1 + 1e-9));
  EXPECT_GT(sum, 0.99 * outcome.energy->units) << "nodes without jobs are asleep";
}

// Once a day, of the next four days. `wrong`: nights are called clean.
ForecastBook daily_forecasts(bool wrong) {
  std::vector<SupplyForecast> forecasts;
  for (int day = 0; day < 25; ++day) {
    std::vector<double> values;
    for (int hour = 0; hour < 96; ++hour) values.push_back((hour % 24 < 12) != wrong ? 100 : 400);
    const Time issued = Time{} + std::chrono::hours{24 * day};
    forecasts.push_back({issued, {issued, std::chrono::hours{1}, values}});
  }
  return ForecastBook{std::move(forecasts)};
}

TEST(ForecastRun, RightForecastsAreAsGoodAsKnowing) {
  TrainingRunConfig known = with_budgets({});
  known.energy->terms.price_nanos = 20'000'000'000;
  TrainingRunConfig forecast = known;
  forecast.energy->forecasts = daily_forecasts(false);
  const TrainingOutcome before = play(known);
  const TrainingOutcome after = play(forecast);
  EXPECT_NEAR(after.energy->units, before.energy->units, 0.01 * before.energy->units);
  EXPECT_NEAR(after.total_completion_seconds, before.total_completion_seconds,
              0.01 * before.total_completion_seconds);
}

TEST(ForecastRun, WrongForecastsCostTimeOrEnergyButNotTheAccount) {
  const double most = play(with_budgets({})).energy->units;
  TrainingRunConfig config = with_budgets({{"", 0.85 * most}});
  const TrainingOutcome right = play(config);
  double used = 0;
  config.energy->forecasts = daily_forecasts(true);
  config.after_decision = [&](const schedule::TrainingState& state, Time) {
    used = state.energy.budget.used;
  };
  const TrainingOutcome wrong = play(config);
  EXPECT_NEAR(used, wrong.energy->units, 0.001 * wrong.energy->units)
      << "what was is known, whatever was expected";
  EXPECT_GT(wrong.energy->units * wrong.total_completion_seconds,
            right.energy->units * right.total_completion_seconds);
}

}  // namespace
}  // namespace weir::simulate
