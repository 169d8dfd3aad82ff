// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/themis.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedule/policies/fixed_sizes_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

constexpr std::int64_t kRound = 100;

class ThemisInRounds : public ::testing::Test {
 protected:
  ThemisInRounds() { pool_.config.round = from_seconds(kRound); }

  JobId arrives(std::int32_t gpus, Time at, std::int64_t seconds = kVeryLong) {
    const JobId job = submitted(pool_, a_fixed_job(gpus, seconds), at);
    pool_.decide(at);
    return job;
  }
  Time wake_up(Time now) const { return wake_up_of("themis", pool_, now); }

  PoolUnderTest pool_{"themis", 1, 4, kFreeRescales};
};

TEST_F(ThemisInRounds, ServesANewcomerAtTheEndOfTheRound) {
  const JobId old = arrives(4, at_second(0));
  const JobId newcomer = arrives(4, at_second(1010));
  EXPECT_FALSE(runs(pool_, newcomer));
  EXPECT_EQ(wake_up(at_second(1010)), at_second(1100));
  pool_.decide(at_second(1100));
  EXPECT_TRUE(runs(pool_, newcomer));
  EXPECT_FALSE(runs(pool_, old));
}

// On four GPUs among four jobs the narrow one has its equal share, and runs all the time in an ideal
// world; the wide ones a quarter of it.
TEST_F(ThemisInRounds, OfNewcomersTheOneWithTheLargerShareGoesFirst) {
  arrives(4, at_second(0));
  const JobId wide = arrives(4, at_second(10));
  arrives(4, at_second(10));
  const JobId narrow = arrives(1, at_second(20));
  pool_.decide(at_second(kRound));
  EXPECT_TRUE(runs(pool_, narrow));
  EXPECT_FALSE(runs(pool_, wide));
}

TEST_F(ThemisInRounds, FillsFreeGpusInsideARound) {
  const JobId a = arrives(4, at_second(0));
  const JobId b = arrives(4, at_second(10));
  pool_.finish(a, at_second(30));
  pool_.decide(at_second(30));
  EXPECT_TRUE(runs(pool_, b));
}

TEST_F(ThemisInRounds, InterruptsNobodyInsideARound) {
  const JobId half = arrives(2, at_second(0));
  const JobId quarter = arrives(1, at_second(0));
  const JobId other_half = arrives(2, at_second(10));
  const JobId fits = arrives(1, at_second(20));
  EXPECT_TRUE(runs(pool_, half) && runs(pool_, quarter) && runs(pool_, fits));
  EXPECT_FALSE(runs(pool_, other_half)) << "it would go before them";
  pool_.decide(at_second(kRound));
  EXPECT_TRUE(runs(pool_, other_half));
}

TEST_F(ThemisInRounds, TakesNoTurnsWithoutContention) {
  arrives(2, at_second(0));
  arrives(2, at_second(0));
  EXPECT_EQ(wake_up(at_second(0)), Time::max());
  EXPECT_TRUE(all_of<JobResized>(pool_.decide(at_second(kRound))).empty());
}

TEST_F(ThemisInRounds, EqualsHaveEqualTime) {
  const JobId a = arrives(4, at_second(0));
  const JobId b = arrives(4, at_second(0));
  const Time end = at_second(40 * kRound);
  play("themis", pool_, at_second(0), end);
  EXPECT_NEAR(to_seconds(pool_.job(a).running_at(end)), 20 * kRound, kRound);
  EXPECT_NEAR(to_seconds(pool_.job(b).running_at(end)), 20 * kRound, kRound);
}

TEST(Themis, HasARoundOfItsOwn) {
  PoolUnderTest pool{"themis", 1, 1, kFreeRescales};
  pool.submit(a_fixed_job(1, kVeryLong));
  pool.submit(a_fixed_job(1, kVeryLong));
  pool.decide();
  EXPECT_EQ(wake_up_of("themis", pool, at_second(1)), at_second(300));
}

// Eight GPUs, four jobs: two for each. On two GPUs a job of four takes twice as long.
TEST(Themis, AnEqualShareSlowsOnlyJobsThatAskForMore) {
  PoolUnderTest pool{"themis", 1, 8, kFreeRescales};
  for (const std::int32_t gpus : {4, 2, 1, 8}) pool.submit(a_fixed_job(gpus, 100));
  const auto ideal = [&](std::uint64_t id) {
    return time_on_equal_share(ViewOf{pool, at_second(0)}, pool.job(JobId{id}));
  };
  EXPECT_EQ(ideal(1), from_seconds(200));
  EXPECT_EQ(ideal(2), from_seconds(100));
  EXPECT_EQ(ideal(3), from_seconds(100));
  EXPECT_EQ(ideal(4), from_seconds(400));
}

// When each of four equal jobs finishes that came at once, decided at every end of a round.
std::vector<std::int64_t> finishes_of_four(std::string_view policy) {
  PoolUnderTest pool{policy, 1, 4, kFreeRescales};
  pool.config.round = from_seconds(kRound);
  for (int i = 0; i < 4; ++i) pool.submit(a_fixed_job(4, 1000));
  std::vector<std::int64_t> finishes;
  for (std::int64_t second = 0; finishes.size() < 4 && second < 10'000; second += kRound) {
    const Time now = at_second(second);
    const std::vector<JobId> active = pool.pool().active;
    for (const JobId job : active) {
      if (pool.job(job).running_at(now) < from_seconds(1000)) continue;
      pool.finish(job, now);
      finishes.push_back(second);
    }
    pool.decide(now);
  }
  return finishes;
}

// On an equal share each would take 4000 s.
TEST(Themis, EqualisesRho) {
  const auto fair = finishes_of_four("themis");
  const auto first_come = finishes_of_four("fifo");
  ASSERT_EQ(fair.size(), 4U);
  ASSERT_EQ(first_come, (std::vector<std::int64_t>{1000, 2000, 3000, 4000}));
  EXPECT_GE(fair.front(), 3600) << "rho 0.9";
  EXPECT_EQ(fair.back(), 4000) << "no GPU was idle";
}

RC_GTEST_PROP(Themis, WhoHasNeverRunAndFitsAloneNeverWaitsBehindWhoHas, ()) {
  PoolUnderTest pool{"themis", between(1, 3), 4, kFreeRescales};
  pool.config.round = from_seconds(kRound);
  for (int i = between(2, 12); i > 0; --i)
    pool.submit(a_fixed_job(static_cast<std::int32_t>(any_power_of_two(4)), between(50, 5000)));
  pool.decide();
  for (std::int64_t round = 1; round < 20; ++round) {
    const Time now = at_second(round * kRound);
    pool.decide(now);
    for (const JobId waits : pool.pool().active) {
      if (runs(pool, waits) || pool.job(waits).running_at(now) > Duration{0}) continue;
      for (const JobId other : pool.pool().active) {
        const TrainingJob& job = pool.job(other);
        const bool is_old = job.running_at(now) > Duration{0};
        RC_ASSERT(!is_old || job.block.size < asked_gpus(pool.job(waits)));
      }
    }
  }
}

}  // namespace
}  // namespace weir::schedule
