// SPDX-License-Identifier: Apache-2.0
#include "simulate/energy_meter.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/energy/power_use.h"
#include "simulate/any_energy_run_testing.h"

namespace weir::simulate {
namespace {

Time metered_second(std::int64_t number) {
  return Time{from_seconds(number)};
}

const CurveKey kMeteredKind{"m", 1};
const JobId kMeteredJob{1};

// Two nodes of two; 100 W for each GPU with a job, 40 W at half the clock. A watt costs a unit each
// second in the first hour, two in the second.
EnergyMeter a_meter() {
  PowerBook book{.gpu = "any",
                 .idle_milliwatts = 10'000,
                 .node_milliwatts = 300'000,
                 .asleep_milliwatts = 5'000,
                 .overhead_permille = 1500,
                 .tables = {{kMeteredKind,
                             {{1, 500, IterationRate{6}, 40'000},
                              {1, 1000, IterationRate{10}, 100'000},
                              {4, 1000, IterationRate{30}, 400'000}}}}};
  return {{{book, {2, 2}, 2}},
          SupplySeries{Time{}, std::chrono::hours{1}, {3.6e6, 7.2e6}},
          metered_second(0)};
}

TEST(EnergyMeter, CountsJobsNodesIdleGpusAndTheSite) {
  EnergyMeter meter = a_meter();
  EXPECT_DOUBLE_EQ(meter.watts(), 10 * 1.5);
  meter.hold(metered_second(10), 0, kMeteredJob, kMeteredKind, {0, 1});
  EXPECT_DOUBLE_EQ(meter.watts(), (100 + 300 + 10 + 5) * 1.5);
  meter.set_clock(metered_second(20), kMeteredJob, 500);
  EXPECT_DOUBLE_EQ(meter.watts(), (40 + 300 + 10 + 5) * 1.5);
  meter.hold(metered_second(30), 0, kMeteredJob, kMeteredKind,
             {0, 4});  // at the full clock again, on both nodes
  EXPECT_DOUBLE_EQ(meter.watts(), (400 + 600) * 1.5);
  meter.release(metered_second(40), kMeteredJob);
  EXPECT_DOUBLE_EQ(meter.watts(), 10 * 1.5);
  const EnergyOutcome outcome = meter.outcome(metered_second(40));
  EXPECT_NEAR(outcome.units, (10 + 415 + 355 + 1000) * 1.5 * 10, 1e-9);
  EXPECT_NEAR(outcome.site_kwh, (10 + 415 + 355 + 1000) * 1.5 * 10 / 3.6e6, 1e-12);
  EXPECT_NEAR(outcome.jobs_kwh, (100 + 40 + 400) * 10 / 3.6e6, 1e-12);
  EXPECT_DOUBLE_EQ(outcome.peak_watts, 1500);
}

TEST(EnergyMeter, FollowsTheSupplyOverTheHour) {
  EnergyMeter meter = a_meter();
  meter.hold(metered_second(3500), 0, kMeteredJob, kMeteredKind, {0, 1});
  const double before = 15 * 3500;
  EXPECT_NEAR(meter.outcome(metered_second(3800)).units, before + 415 * 1.5 * (100 + 200 * 2),
              1e-6);
}

TEST(EnergyMeter, AJobsOwnUnitsAreThoseOfItsGpus) {
  EnergyMeter meter = a_meter();
  meter.hold(metered_second(0), 0, kMeteredJob, kMeteredKind, {0, 1});
  meter.set_clock(metered_second(100), kMeteredJob, 500);
  meter.release(metered_second(300), kMeteredJob);
  EXPECT_NEAR(meter.units_of(kMeteredJob), 100 * 100 + 40 * 200, 1e-9);
}

TEST(EnergyMeter, TheTraceHasOneStepForEachInstant) {
  EnergyMeter meter = a_meter();
  meter.hold(metered_second(10), 0, kMeteredJob, kMeteredKind, {0, 4});
  meter.set_clock(metered_second(10), kMeteredJob, 1000);
  meter.hold(metered_second(10), 0, kMeteredJob, kMeteredKind, {0, 1});
  const EnergyOutcome outcome = meter.outcome(metered_second(20));
  ASSERT_EQ(outcome.trace.size(), 2U);
  EXPECT_EQ(outcome.trace[1].at, metered_second(10));
  EXPECT_DOUBLE_EQ(outcome.trace[1].watts, 415 * 1.5);
}

// Sums of watts would leave 1e-11 W behind.
TEST(EnergyMeter, WhereEverybodyHasGoneNothingIsDrawnExactly) {
  EXPECT_TRUE(rc::check("exact", [] {
    EnergyCase made = an_energy_case("green", *rc::gen::arbitrary<std::uint64_t>());
    made.book().asleep_milliwatts = 0;
    made.terms().price_nanos = 5'000'000'000;
    RC_ASSERT(made.play().energy->trace.back().watts == 0);
  }));
}

// --- whole runs ---

const std::vector<std::string> kMeteredPolicies{"green at a price", "green with a budget",
                                                "elastic-capped"};

// Budgets from scarce to plenty: what the jobs would use on one GPU each is of the order of 1 kg.
EnergyCase any_energy_case(const std::string& kind, std::uint64_t seed) {
  EnergyCase made = an_energy_case(kind == "elastic-capped" ? kind : "green", seed, true);
  SeededRng rng{seed};
  SeededRng terms = rng.fork("terms");
  if (kind == "green at a price")
    made.terms().price_nanos = static_cast<std::int64_t>(terms.below(200'000'000'000));
  if (kind == "green with a budget") {
    made.terms().budget_micros = static_cast<std::int64_t>(1'000'000 + terms.below(3'000'000'000));
    made.terms().when_spent = static_cast<WhenSpent>(terms.below(3));
  }
  return made;
}

template <class Check>
void for_any_run(const char* what, Check check) {
  for (const std::string& kind : kMeteredPolicies) {
    EXPECT_TRUE(rc::check(what + (": " + kind), [&] {
      EnergyCase made = any_energy_case(kind, *rc::gen::arbitrary<std::uint64_t>());
      check(made);
    }));
  }
}

bool is_close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// Watts from one step to the next, hour by hour, each at the value of its hour.
double integral_of(const std::vector<PowerStep>& trace, const SupplySeries& supply, Time end) {
  double units = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const Time until = i + 1 < trace.size() ? trace[i + 1].at : end;
    for (Time at = trace[i].at; at < until;) {
      const Time next = std::min(until, supply.next_step(at));
      units += trace[i].watts / 1000 * supply.at(at) * (to_seconds(next - at) / 3600);
      at = next;
    }
  }
  return units;
}

TEST(EnergyMeter, UnitsAreTheIntegralOfTheTrace) {
  for_any_run("integral", [](EnergyCase& made) {
    const TrainingOutcome outcome = made.play();
    const Time end = made.terms().from + outcome.makespan;
    RC_ASSERT(
        is_close(outcome.energy->units, integral_of(outcome.energy->trace, made.supply(), end)));
  });
}

// The meter knows the records only, the account is the scheduler's own.
TEST(EnergyMeter, AgreesWithTheSchedulersAccount) {
  for_any_run("account", [](EnergyCase& made) {
    double used = 0;
    double watts = 0;
    Time since;
    made.config.after_decision = [&](const schedule::TrainingState& state, Time) {
      used = state.energy.budget.used;
      since = state.energy.since;
      watts = schedule::pool_watts(state, state.pools.front());
    };
    const TrainingOutcome outcome = made.play();
    const Time end = made.terms().from + outcome.makespan;
    RC_ASSERT(
        is_close(used + emitted(made.supply(), watts, std::max(since, made.terms().from), end),
                 outcome.energy->units));
  });
}

}  // namespace
}  // namespace weir::simulate
