// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/power_use.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

constexpr PoolPower kPowerOfPool{.pool = PoolIndex{0},
                                 .idle_milliwatts = 55'000,
                                 .node_milliwatts = 800'000,
                                 .asleep_milliwatts = 7'000,
                                 .overhead_permille = 1200};

// 100 W for each GPU at the full clock, 40 W at half.
PowerTable table_of_two_clocks() {
  PowerTable table;
  for (const std::int32_t gpus : {1, 2, 4, 8}) {
    table.push_back({gpus, 500, per_second(6 * gpus), gpus * 40'000});
    table.push_back({gpus, 1000, per_second(10 * gpus), gpus * 100'000});
  }
  return table;
}

// Three nodes of four, with energy terms.
struct PoweredPool {
  PoolUnderTest pool{3, 4, kFreeRescales};
  TrainingState state;

  // After all jobs have come.
  void begin(std::vector<double> per_kwh = {3.6e6}) {
    state = pool.copy_of_state();
    EnergyTerms terms;
    terms.pools = {kPowerOfPool};
    state.energy.terms = std::make_shared<const EnergyTerms>(terms);
    state.energy.supply =
        std::make_shared<const SupplySeries>(Time{}, std::chrono::hours{1}, std::move(per_kwh));
    for (const JobId id : state.pools.front().active)
      state.pools.front().power[state.job(id).spec->curve] =
          std::make_shared<const PowerTable>(table_of_two_clocks());
  }
  JobId add() {
    return pool.add_unpromised(
        a_training_job().curve({{1, 10}, {2, 20}, {4, 40}, {8, 80}}).iterations(1'000'000));
  }
  double watts() const { return pool_watts(state, state.pools.front()); }
};

TEST(PowerUse, NodesWithoutJobsSleep) {
  PoweredPool at;
  at.add();
  at.begin();
  EXPECT_DOUBLE_EQ(at.watts(), 3 * 7 * 1.2);
}

TEST(PowerUse, CountsJobsByClockIdleGpusOfAwakeNodesAndTheSitesOverhead) {
  PoweredPool at;
  const JobId job = at.add();
  at.begin();
  evolve(at.state, {}, {}, JobResized{job, 1, {0, 2}});
  EXPECT_DOUBLE_EQ(at.watts(), (200 + 800 + 2 * 55 + 2 * 7) * 1.2);
  evolve(at.state, {}, {}, ClockSet{job, 500, 600'000});
  EXPECT_DOUBLE_EQ(at.watts(), (80 + 800 + 2 * 55 + 2 * 7) * 1.2);
}

TEST(PowerUse, WithoutTermsThereIsNothingToCount) {
  PoweredPool at;
  const JobId job = at.add();
  at.begin();
  evolve(at.state, {}, {}, JobResized{job, 1, {0, 2}});
  at.state.energy.terms = nullptr;
  EXPECT_EQ(at.watts(), 0);
}

// A watt costs a unit each second in the first hour, two in the second.
TEST(PowerUse, TheAccountFollowsTheSupplyAndWhatIsDecided) {
  PoweredPool at;
  const JobId job = at.add();
  at.begin({3.6e6, 7.2e6});
  evolve(at.state, at_second(0), {}, JobResized{job, 1, {0, 4}});
  const double full = (400 + 800 + 2 * 7) * 1.2;
  const double half = (160 + 800 + 2 * 7) * 1.2;
  evolve(at.state, at_second(1800), {}, ClockSet{job, 500, 600'000});
  EXPECT_NEAR(at.state.energy.budget.used, full * 1800, 1e-6);
  evolve(at.state, at_second(5400), {}, JobReleased{job});
  EXPECT_NEAR(at.state.energy.budget.used, full * 1800 + half * 1800 + half * 1800 * 2, 1e-6);
}

TEST(PowerUse, NothingIsCountedBeforeTheBudgetBegins) {
  PoweredPool at;
  const JobId job = at.add();
  at.begin();
  EnergyTerms terms = *at.state.energy.terms;
  terms.from = at_second(100);
  at.state.energy.terms = std::make_shared<const EnergyTerms>(terms);
  evolve(at.state, at_second(0), {}, JobResized{job, 1, {0, 4}});
  evolve(at.state, at_second(110), {}, JobReleased{job});
  EXPECT_NEAR(at.state.energy.budget.used, (400 + 800 + 2 * 7) * 1.2 * 10, 1e-6);
}

double naive_watts(const TrainingState& state) {
  double watts = 0;
  const PoolState& pool = state.pools.front();
  for (std::uint32_t node = 0; node < pool.pool->nodes.size(); ++node) {
    int busy = 0;
    for (std::uint32_t slot = node * 4; slot < node * 4 + 4; ++slot) {
      for (const JobId id : pool.active) {
        const TrainingJob& job = state.job(id);
        if (job.block.first > slot || job.block.end() <= slot) continue;
        ++busy;
        watts += job.clock_permille == 500 ? 40 : 100;
      }
    }
    watts += busy == 0 ? 7 : 800 + (4 - busy) * 55;
  }
  return watts * 1.2;
}

TEST(PowerUse, EqualsASumOverEveryGpu) {
  EXPECT_TRUE(rc::check("naive", [] {
    PoweredPool at;
    std::vector<JobId> jobs;
    for (int i = between(1, 8); i > 0; --i) jobs.push_back(at.add());
    at.begin();
    BlockMap taken{12};
    for (const JobId job : jobs) {
      const auto block = taken.best_fit(any_power_of_two(4));
      if (!block || between(0, 4) == 0) continue;
      taken.take(*block);
      evolve(at.state, {}, {}, JobResized{job, 1, *block});
      if (between(0, 2) == 0) evolve(at.state, {}, {}, ClockSet{job, 500, 600'000});
    }
    RC_ASSERT(std::abs(at.watts() - naive_watts(at.state)) < 1e-9 * at.watts());
  }));
}

}  // namespace
}  // namespace weir::schedule
