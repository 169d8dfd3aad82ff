// SPDX-License-Identifier: Apache-2.0
//
// What the scheduler knows of energy comes as events, and what was used follows from them.
#include <gtest/gtest.h>

#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"
#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

constexpr std::int64_t kHour = 3600;
const CurveKey kKind{"model", 64};

// One node of four GPUs under green, which knows one curve: 10 iterations a second on 1 GPU, 18 on 2.
struct EnergyWorld {
  Core core = [] {
    CoreConfig config;
    config.policy = placement_policies().front().policy;
    config.training_policy = find_training_policy("green");
    Core made{config,
              initial_state_for_training(cluster_of({listed_node(1, 64, 4)}), SizeRule::useful)};
    made.handle({at_second(0), CurveUpdated{PoolIndex{0}, kKind, a_curve({{1, 10}, {2, 18}})}});
    return made;
  }();

  template <class What>
  ReasonCode tell(std::int64_t second, What what) {
    const auto records = core.handle({at_second(second), std::move(what)});
    return records.empty() ? ReasonCode::as_reported : records.front().reason.code;
  }
  const EnergyAccount& account() const { return core.state().training.energy; }
  const TrainingJob& job(std::uint64_t id) const { return core.state().training.job(JobId{id}); }
  ReasonCode supply(std::int64_t second, double per_kwh, SupplyKind kind = {}) {
    return tell(second,
                SupplyUpdated{std::move(kind), {at_second(0), from_seconds(kHour), {per_kwh}}});
  }
  // 400 W for each GPU at work; a node 800 W, awake, without them; idle GPUs 50 W. PUE 1.5.
  void power(std::int64_t second, std::int64_t milliwatts = 400'000) {
    tell(second, PowerTableUpdated{PoolIndex{0},
                                   kKind,
                                   {{1, 1000, IterationRate{10'000'000}, milliwatts},
                                    {2, 1000, IterationRate{18'000'000}, 2 * milliwatts}},
                                   CurveOrigin::assumed});
  }
  static EnergyTerms terms(std::int64_t from = 0) {
    EnergyTerms terms;
    terms.pools = {{PoolIndex{0}, 50'000, 800'000, 0, 1500}};
    terms.from = at_second(from);
    terms.until = at_second(from + 24 * kHour);
    return terms;
  }
  void submit(std::int64_t second, const std::string& tenant, std::int32_t gpus) {
    TrainingSpec spec;
    spec.curve = kKind;
    spec.iterations = 10'000'000;
    spec.tenant = tenant;
    spec.asked_gpus = gpus;
    spec.is_rigid = true;
    tell(second, TrainingSubmitted{spec});
    tell(second, TimerFired{});
  }
};

TEST(TrainingEnergy, TermsNeedASupplyAndKnownPools) {
  EnergyWorld world;
  EXPECT_EQ(world.tell(0, EnergyConfigured{EnergyWorld::terms()}), ReasonCode::malformed);
  EXPECT_EQ(world.supply(0, 300), ReasonCode::as_reported);
  EnergyTerms elsewhere = EnergyWorld::terms();
  elsewhere.pools.front().pool = PoolIndex{7};
  EXPECT_EQ(world.tell(0, EnergyConfigured{elsewhere}), ReasonCode::malformed);
  EnergyTerms twice = EnergyWorld::terms();
  twice.pools.push_back(twice.pools.front());
  EXPECT_EQ(world.tell(0, EnergyConfigured{twice}), ReasonCode::malformed);
  EXPECT_EQ(world.tell(0, EnergyConfigured{EnergyWorld::terms()}), ReasonCode::as_reported);
  ASSERT_NE(world.account().terms, nullptr);
}

TEST(TrainingEnergy, TheSameAgainIsIgnored) {
  EnergyWorld world;
  EXPECT_EQ(world.tell(0, EnergyConfigured{}), ReasonCode::already_so) << "nobody asks, as before";
  world.supply(0, 300);
  world.power(0);
  world.tell(0, EnergyConfigured{EnergyWorld::terms()});
  EXPECT_EQ(world.supply(1, 300), ReasonCode::already_so);
  EXPECT_EQ(world.tell(1, EnergyConfigured{EnergyWorld::terms()}), ReasonCode::already_so);
  EXPECT_EQ(world.tell(1, SupplyUpdated{{SupplyQuantity::power_cap, ""},
                                        {at_second(0), from_seconds(kHour), {5}}}),
            ReasonCode::malformed)
      << "a cap is no supply";
}

// 1 h at 300 g/kWh. The jobs: 400 W and 800 W; beside them the node 800 W and an idle GPU 50 W, of
// which a GPU of theirs has a third. All times 1.5.
TEST(TrainingEnergy, JobsAndTenantsHaveTheirShareOfTheNode) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  world.tell(0, EnergyConfigured{EnergyWorld::terms()});
  world.submit(0, "vision", 1);
  world.submit(0, "language", 2);
  ASSERT_EQ(world.job(1).block.size, 1U);
  ASSERT_EQ(world.job(2).block.size, 2U);
  world.tell(kHour, JobFinished{JobId{1}});
  const double beside = (800 + 50) / 3.0;
  const double first = 1.5 * (400 + beside);
  const double second = 1.5 * (800 + 2 * beside);
  EXPECT_NEAR(world.job(1).energy.joules, first * kHour, 1e-6);
  EXPECT_NEAR(world.job(1).energy.units, first * 0.3, 1e-9);
  EXPECT_NEAR(world.job(2).energy.joules, second * kHour, 1e-6);
  EXPECT_NEAR(world.account().tenants.at("vision").units, first * 0.3, 1e-9);
  EXPECT_NEAR(world.account().tenants.at("language").units, second * 0.3, 1e-9);
  EXPECT_NEAR(world.account().total.units, (first + second) * 0.3, 1e-9);
  EXPECT_NEAR(world.account().budget.used, (first + second) * 0.3, 1e-9);
  EXPECT_EQ(world.job(1).phase, TrainingPhase::finished) << "what it used outlives it";
}

TEST(TrainingEnergy, WhatChangesCountsFromThenOn) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  world.tell(0, EnergyConfigured{EnergyWorld::terms()});
  world.submit(0, "", 1);
  const double at_first = 1.5 * (400 + 800 + 150);
  world.supply(kHour, 100);  // from the first hour's end
  world.power(2 * kHour, 200'000);
  world.tell(3 * kHour, JobFinished{JobId{1}});
  const double later = 1.5 * (200 + 800 + 150);
  EXPECT_NEAR(world.job(1).energy.joules, (2 * at_first + later) * kHour, 1e-6);
  EXPECT_NEAR(world.account().budget.used, at_first * 0.3 + at_first * 0.1 + later * 0.1, 1e-9);
}

TEST(TrainingEnergy, ABudgetOfAnotherTimeBeginsWithNothingUsed) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  EnergyTerms terms = EnergyWorld::terms();
  terms.budget_micros = 5'000'000'000;
  world.tell(0, EnergyConfigured{terms});
  world.submit(0, "", 1);
  world.tell(kHour, TimerFired{});
  terms.budget_micros = 9'000'000'000;  // more of it: what was used stays
  world.tell(2 * kHour, EnergyConfigured{terms});
  EXPECT_NEAR(world.account().budget.used, 2 * 1.5 * 1350 * 0.3, 1e-9);
  terms.from = at_second(2 * kHour);
  world.tell(2 * kHour, EnergyConfigured{terms});
  EXPECT_EQ(world.account().budget.used, 0);
  EXPECT_NEAR(world.account().total.units, 2 * 1.5 * 1350 * 0.3, 1e-9) << "but it was used";
}

// Those who had one go on, whoever comes or goes beside them.
TEST(TrainingEnergy, TenantsBudgetsAreCountedEachForItself) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  EnergyTerms terms = EnergyWorld::terms();
  terms.tenants = {{"vision", 5'000'000'000}};
  world.tell(0, EnergyConfigured{terms});
  world.submit(0, "vision", 1);
  world.submit(0, "language", 2);
  world.tell(kHour, TimerFired{});
  const double beside = (800 + 50) / 3.0;
  const double vision = 1.5 * (400 + beside) * 0.3;
  const double language = 1.5 * (800 + 2 * beside) * 0.3;
  terms.tenants = {{"language", 9'000'000'000}, {"vision", 7'000'000'000}};
  world.tell(kHour, EnergyConfigured{terms});
  ASSERT_EQ(world.account().of_tenants.size(), 2U);
  EXPECT_EQ(world.account().of_tenants[0].used, 0) << "its budget begins now";
  EXPECT_NEAR(world.account().of_tenants[1].used, vision, 1e-9);
  world.tell(2 * kHour, JobFinished{JobId{1}});
  EXPECT_NEAR(world.account().of_tenants[0].used, language, 1e-9);
  EXPECT_NEAR(world.account().of_tenants[1].used, 2 * vision, 1e-9);
  terms.tenants.erase(terms.tenants.begin());
  world.tell(2 * kHour, EnergyConfigured{terms});
  ASSERT_EQ(world.account().of_tenants.size(), 1U);
  EXPECT_NEAR(world.account().of_tenants[0].used, 2 * vision, 1e-9);
}

TEST(TrainingEnergy, ATenantsPriceIsItsOwn) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  EnergyTerms terms = EnergyWorld::terms();
  terms.tenants = {{"default", 1'000'000}, {"vision", 1'000'000'000'000}};
  world.tell(0, EnergyConfigured{terms});
  world.submit(0, "", 1);
  world.submit(0, "vision", 1);
  const auto& budgets = world.account().of_tenants;
  EXPECT_GT(budgets[0].price_nanos, 0) << "a job without a tenant is one of the default tenant";
  EXPECT_EQ(budgets[1].price_nanos, 0);
  EXPECT_EQ(world.account().budget.priced_at, Time::min()) << "the cluster has no budget";
}

TEST(TrainingEnergy, BudgetsOfTenantsNeedATimeAndAnOrder) {
  EnergyWorld world;
  world.supply(0, 300);
  EnergyTerms terms = EnergyWorld::terms();
  terms.tenants = {{"b", 1}, {"a", 1}};
  EXPECT_EQ(world.tell(0, EnergyConfigured{terms}), ReasonCode::malformed);
  terms.tenants = {{"a", 1}, {"a", 1}};
  EXPECT_EQ(world.tell(0, EnergyConfigured{terms}), ReasonCode::malformed);
  terms.tenants = {{"", 1}};
  EXPECT_EQ(world.tell(0, EnergyConfigured{terms}), ReasonCode::malformed);
  terms.tenants = {{"a", -1}};
  EXPECT_EQ(world.tell(0, EnergyConfigured{terms}), ReasonCode::malformed);
  terms.tenants = {{"a", 1}};
  terms.until = terms.from;
  EXPECT_EQ(world.tell(0, EnergyConfigured{terms}), ReasonCode::malformed);
}

TEST(TrainingEnergy, GramsAndMoneyAreNotAddedUp) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  world.tell(0, EnergyConfigured{EnergyWorld::terms()});
  world.submit(0, "vision", 1);
  world.supply(kHour, 0.2, {SupplyQuantity::price, "EUR"});
  EXPECT_EQ(world.account().budget.used, 0);
  EXPECT_EQ(world.job(1).energy.units, 0);
  EXPECT_NEAR(world.job(1).energy.joules, 1.5 * 1350 * kHour, 1e-6);
  world.tell(2 * kHour, JobFinished{JobId{1}});
  EXPECT_NEAR(world.account().tenants.at("vision").units, 1.5 * 1350 * 0.0002, 1e-12);
}

TEST(TrainingEnergy, TermsWithoutPoolsEndIt) {
  EnergyWorld world;
  world.supply(0, 300);
  world.power(0);
  world.tell(0, EnergyConfigured{EnergyWorld::terms()});
  world.submit(0, "", 1);
  EXPECT_EQ(world.tell(kHour, EnergyConfigured{}), ReasonCode::as_reported);
  EXPECT_EQ(world.account().terms, nullptr);
  const double used = world.job(1).energy.joules;
  EXPECT_NEAR(used, 1.5 * 1350 * kHour, 1e-6);
  world.tell(2 * kHour, JobFinished{JobId{1}});
  EXPECT_EQ(world.job(1).energy.joules, used) << "nobody counts any more";
}

// Jobs that came before anybody asked about energy are part of what is expected to come.
TEST(TrainingEnergy, JobsThatWereThereBeforeAreSeen) {
  EnergyWorld world;
  world.submit(0, "", 1);
  world.supply(5, 300);
  world.tell(5, EnergyConfigured{EnergyWorld::terms()});
  EXPECT_EQ(world.core.state().training.pools.front().iterations_seen.at({"", kKind}), 10'000'000);
}

}  // namespace
}  // namespace weir::schedule
