// SPDX-License-Identifier: Apache-2.0
//
// The limits are 3250 and 7200 GPU-seconds: a job of 4 GPUs leaves the first queue after 812.5 s and
// the second after 1800 s.
#include "schedule/policies/tiresias.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/policies/fixed_sizes_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

Time at_millisecond(std::int64_t milliseconds) {
  return Time{std::chrono::milliseconds{milliseconds}};
}

class TiresiasWithFourGpus : public ::testing::Test {
 protected:
  JobId arrives(std::int32_t gpus, Time at) {
    const JobId job = submitted(pool_, a_fixed_job(gpus, kVeryLong), at);
    pool_.decide(at);
    return job;
  }
  Time wake_up(Time now) const { return wake_up_of("tiresias", pool_, now); }

  PoolUnderTest pool_{"tiresias", 1, 4, kFreeRescales};
};

TEST_F(TiresiasWithFourGpus, InterruptsNobodyInTheSameQueue) {
  const JobId first = arrives(4, at_second(0));
  const JobId second = arrives(4, at_second(10));
  pool_.decide(at_second(800));
  EXPECT_TRUE(runs(pool_, first));
  EXPECT_FALSE(runs(pool_, second));
}

TEST_F(TiresiasWithFourGpus, DemotesAJobThatHasHadItsShare) {
  const JobId first = arrives(4, at_second(0));
  const JobId second = arrives(4, at_second(10));
  ASSERT_EQ(wake_up(at_second(10)), at_millisecond(812'500));
  pool_.decide(at_millisecond(812'499));
  EXPECT_TRUE(runs(pool_, first));
  pool_.decide(at_millisecond(812'500));
  EXPECT_FALSE(runs(pool_, first));
  EXPECT_TRUE(runs(pool_, second));
}

TEST_F(TiresiasWithFourGpus, ANewcomerInterruptsADemotedJob) {
  const JobId old = arrives(4, at_second(0));
  pool_.decide(at_second(900));
  EXPECT_TRUE(runs(pool_, old)) << "nobody else is there";
  const JobId newcomer = arrives(1, at_second(1000));
  EXPECT_TRUE(runs(pool_, newcomer));
  EXPECT_FALSE(runs(pool_, old));
}

TEST_F(TiresiasWithFourGpus, HasThreeQueues) {
  const JobId first = arrives(4, at_second(0));
  const JobId second = arrives(4, at_second(0));
  play("tiresias", pool_, at_second(0), at_second(1625));
  EXPECT_TRUE(runs(pool_, second)) << "it is the last of the first queue";
  // At 1625 s both are in the second queue, where nobody is interrupted ...
  pool_.decide(at_second(1625));
  EXPECT_TRUE(runs(pool_, second));
  // ... until the second has had 7200 GPU-seconds, 987.5 s later.
  EXPECT_EQ(wake_up(at_second(1625)), at_millisecond(2'612'500));
  pool_.decide(at_millisecond(2'612'500));
  EXPECT_TRUE(runs(pool_, first));
  // When the first has as well, at 3600 s, both are in the last: whoever runs there goes on.
  EXPECT_EQ(wake_up(at_millisecond(2'612'500)), Time::max());
  pool_.decide(at_second(3600));
  pool_.decide(at_second(1'000'000));
  EXPECT_TRUE(runs(pool_, first));
}

TEST_F(TiresiasWithFourGpus, GoesByArrivalInsideAQueue) {
  const JobId first = arrives(4, at_second(0));
  const JobId second = arrives(4, at_second(10));
  const JobId third = arrives(4, at_second(20));
  pool_.finish(first, at_second(100));
  pool_.decide(at_second(100));
  EXPECT_TRUE(runs(pool_, second));
  EXPECT_FALSE(runs(pool_, third));
}

TEST_F(TiresiasWithFourGpus, CountsGpusTimesTime) {
  const JobId wide = arrives(4, at_second(0));
  pool_.decide(at_second(813));
  const JobId narrow = arrives(1, at_second(813));
  EXPECT_FALSE(runs(pool_, wide));
  // One GPU for four times as long.
  pool_.decide(at_second(813 + 3249));
  EXPECT_TRUE(runs(pool_, narrow));
  EXPECT_FALSE(runs(pool_, wide));
  pool_.decide(at_second(813 + 7200));
  EXPECT_TRUE(runs(pool_, wide)) << "in the second queue, and the narrow one in the third";
}

TEST_F(TiresiasWithFourGpus, DoesNotPromoteWhoeverWaits) {
  const JobId old = arrives(4, at_second(0));
  pool_.decide(at_second(2000));
  for (std::int64_t i = 0; i < 20; ++i) {
    const JobId newcomer = arrives(4, at_second(2000 + i * 800));
    EXPECT_TRUE(runs(pool_, newcomer));
    EXPECT_FALSE(runs(pool_, old));
    pool_.finish(newcomer, at_second(2000 + i * 800 + 800));
  }
  pool_.decide(at_second(2000 + 20 * 800));
  EXPECT_TRUE(runs(pool_, old));
}

TEST_F(TiresiasWithFourGpus, PassesOverWhoDoesNotFit) {
  arrives(2, at_second(0));
  const JobId wide = arrives(4, at_second(1));
  const JobId narrow = arrives(2, at_second(2));
  EXPECT_FALSE(runs(pool_, wide));
  EXPECT_TRUE(runs(pool_, narrow));
}

TEST_F(TiresiasWithFourGpus, NeedsNoTimerWhereNobodyWaits) {
  arrives(4, at_second(0));
  EXPECT_EQ(wake_up(at_second(0)), Time::max());
}

// Nobody who waits would overtake the one that is demoted.
TEST_F(TiresiasWithFourGpus, NeedsNoTimerForAJobThatOnlyLaterQueuesWaitFor) {
  const JobId old = arrives(4, at_second(0));
  pool_.decide(at_second(2000));
  const JobId newcomer = arrives(4, at_second(2000));
  ASSERT_TRUE(runs(pool_, newcomer));
  ASSERT_FALSE(runs(pool_, old));
  EXPECT_EQ(wake_up(at_second(2000)), Time::max());
}

// No running job is in a later queue than somebody who waits and would fit in its place.
RC_GTEST_PROP(Tiresias, NobodyWaitsForAJobOfALaterQueueOfItsSize, ()) {
  PoolUnderTest pool{"tiresias", between(1, 4), 4, kFreeRescales};
  const auto queue_of = [&](JobId id, Time now) {
    const std::int64_t had = pool.job(id).gpu_milliseconds_at(now);
    return had < 3'250'000 ? 0 : had < 7'200'000 ? 1 : 2;
  };
  Time now{};
  for (int i = between(1, 12); i > 0; --i) {
    pool.submit(a_fixed_job(static_cast<std::int32_t>(any_power_of_two(4)), kVeryLong), now);
    const Time next = now + from_seconds(between(0, 2000));
    for (; now < next; now = wake_up_of("tiresias", pool, now)) {
      pool.decide(now);
      for (const JobId waits : pool.pool().active) {
        if (runs(pool, waits)) continue;
        for (const JobId other : pool.pool().active) {
          if (pool.block_of(other).size < asked_gpus(pool.job(waits))) continue;
          RC_ASSERT(queue_of(other, now) <= queue_of(waits, now));
        }
      }
    }
    now = next;
  }
}

}  // namespace
}  // namespace weir::schedule
