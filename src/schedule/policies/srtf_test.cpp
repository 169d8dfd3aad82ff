// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/srtf.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/policies/fixed_sizes_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

TEST(Srtf, ServesTheShortestFirst) {
  PoolUnderTest pool{"srtf", 1, 4, kFreeRescales};
  const JobId lengthy = submitted(pool, a_fixed_job(4, 300));
  const JobId brief = submitted(pool, a_fixed_job(4, 100));
  pool.decide();
  EXPECT_FALSE(runs(pool, lengthy));
  EXPECT_TRUE(runs(pool, brief));
}

TEST(Srtf, CountsTimeNotGpuTime) {
  PoolUnderTest pool{"srtf", 1, 8, kFreeRescales};
  const JobId narrow = submitted(pool, a_fixed_job(1, 200));
  const JobId wide = submitted(pool, a_fixed_job(8, 100));
  pool.decide();
  EXPECT_TRUE(runs(pool, wide));
  EXPECT_FALSE(runs(pool, narrow));
}

TEST(Srtf, InterruptsALongJobForAShortOne) {
  PoolUnderTest pool{"srtf", 1, 4, kTenSeconds};
  const JobId lengthy = submitted(pool, a_fixed_job(4, 300));
  pool.decide();
  const JobId brief = submitted(pool, a_fixed_job(2, 100), at_second(50));
  pool.decide(at_second(50));
  EXPECT_FALSE(runs(pool, lengthy));
  EXPECT_TRUE(runs(pool, brief));
}

// After 50 s, 10 of them starting, the first has 260 s left. A start costs 10 s.
TEST(Srtf, InterruptsNobodyForLessThanThePriceOfAStart) {
  for (const bool pays : {false, true}) {
    PoolUnderTest pool{"srtf", 1, 4, kTenSeconds};
    const JobId first = submitted(pool, a_fixed_job(4, 300));
    pool.decide();
    const JobId second = submitted(pool, a_fixed_job(4, pays ? 249 : 250), at_second(50));
    pool.decide(at_second(50));
    EXPECT_EQ(runs(pool, first), !pays);
    EXPECT_EQ(runs(pool, second), pays);
  }
}

TEST(Srtf, ALaterJobThatFitsGoesBeforeOneThatDoesNot) {
  PoolUnderTest pool{"srtf", 1, 4, kFreeRescales};
  const JobId shortest = submitted(pool, a_fixed_job(2, 100));
  const JobId wide = submitted(pool, a_fixed_job(4, 200));
  const JobId longest = submitted(pool, a_fixed_job(2, 300));
  pool.decide();
  EXPECT_TRUE(runs(pool, shortest));
  EXPECT_FALSE(runs(pool, wide));
  EXPECT_TRUE(runs(pool, longest));
}

TEST(Srtf, NeedsNoTimer) {
  PoolUnderTest pool{"srtf", 1, 4, kTenSeconds};
  submitted(pool, a_fixed_job(4, 300));
  submitted(pool, a_fixed_job(4, 200));
  pool.decide();
  EXPECT_EQ(wake_up_of("srtf", pool, at_second(0)), Time::max());
}

// Making room for the last one moves the job of 198 s. It pays for that, but is not to be stopped in
// the same breath for the job of 183 s, which has to pay for a start.
TEST(Srtf, WhoIsMovedKeepsItsTurn) {
  PoolUnderTest pool{"srtf", 3, 8, {from_seconds(0), from_seconds(2)}};
  struct Arrival {
    std::int64_t after_seconds;
    std::int32_t gpus;
    std::int64_t work_seconds;
  };
  Time now{};
  for (const Arrival& arrival :
       {Arrival{0, 4, 1}, {0, 1, 198}, {0, 8, 1}, {5, 4, 183}, {5, 8, 1}}) {
    now += from_seconds(arrival.after_seconds);
    pool.submit(a_fixed_job(arrival.gpus, arrival.work_seconds), now);
    pool.decide(now);
    EXPECT_TRUE(all_of<JobResized>(pool.decide(now)).empty());
    now += from_seconds(1);
    pool.decide(now);
  }
}

// Otherwise jobs would push each other out and pay for it each time.
RC_GTEST_PROP(Srtf, DecidingAgainChangesNothing, ()) {
  PoolUnderTest pool{"srtf", between(1, 4), 8, any_cost()};
  Time now{};
  for (int i = between(1, 15); i > 0; --i) {
    now += from_seconds(between(0, 100));
    pool.submit(a_fixed_job(static_cast<std::int32_t>(any_power_of_two(8)), between(1, 200)), now);
    pool.decide(now);
    RC_ASSERT(all_of<JobResized>(pool.decide(now)).empty());
    RC_ASSERT(all_of<JobResized>(pool.decide(now + from_seconds(1))).empty());
    now += from_seconds(1);
  }
}

}  // namespace
}  // namespace weir::schedule
