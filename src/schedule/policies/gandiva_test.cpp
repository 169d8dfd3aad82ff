// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/gandiva.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/policies/fixed_sizes_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

constexpr std::int64_t kSlice = 100;

class GandivaInSlices : public ::testing::Test {
 protected:
  GandivaInSlices() { pool_.config.round = from_seconds(kSlice); }

  JobId arrives(std::int32_t gpus, Time at) {
    const JobId job = submitted(pool_, a_fixed_job(gpus, kVeryLong), at);
    pool_.decide(at);
    return job;
  }
  Time wake_up(Time now) const { return wake_up_of("gandiva", pool_, now); }

  PoolUnderTest pool_{"gandiva", 1, 4, kFreeRescales};
};

TEST_F(GandivaInSlices, TwoJobsThatAskForAllGpusAlternate) {
  const JobId a = arrives(4, at_second(0));
  const JobId b = arrives(4, at_second(0));
  for (std::int64_t slice = 1; slice < 10; ++slice) {
    pool_.decide(at_second(slice * kSlice));
    EXPECT_EQ(runs(pool_, a), slice % 2 == 0) << slice;
    EXPECT_EQ(runs(pool_, b), slice % 2 == 1) << slice;
  }
}

TEST_F(GandivaInSlices, InterruptsNobodyInsideASlice) {
  const JobId a = arrives(4, at_second(0));
  const JobId b = arrives(4, at_second(10));
  EXPECT_TRUE(runs(pool_, a));
  EXPECT_FALSE(runs(pool_, b));
  EXPECT_EQ(wake_up(at_second(10)), at_second(kSlice));
}

TEST_F(GandivaInSlices, FillsFreeGpusInsideASlice) {
  const JobId a = arrives(4, at_second(0));
  const JobId b = arrives(4, at_second(10));
  pool_.finish(a, at_second(30));
  pool_.decide(at_second(30));
  EXPECT_TRUE(runs(pool_, b));
}

TEST_F(GandivaInSlices, DoesNotSliceWithoutContention) {
  const JobId a = arrives(2, at_second(0));
  const JobId b = arrives(2, at_second(0));
  EXPECT_EQ(wake_up(at_second(0)), Time::max());
  EXPECT_TRUE(all_of<JobResized>(pool_.decide(at_second(kSlice))).empty());
  EXPECT_TRUE(runs(pool_, a) && runs(pool_, b));
}

TEST_F(GandivaInSlices, OnlyAsManyGiveWayAsMust) {
  const JobId a = arrives(2, at_second(0));
  const JobId b = arrives(2, at_second(50));
  const JobId c = arrives(2, at_second(60));
  pool_.decide(at_second(kSlice));
  EXPECT_TRUE(runs(pool_, c));
  EXPECT_TRUE(runs(pool_, b)) << "it has run less long than a";
  EXPECT_FALSE(runs(pool_, a));
}

TEST_F(GandivaInSlices, JobsOfOneSizeShareTheSameGpus) {
  const JobId a = arrives(2, at_second(0));
  const JobId b = arrives(1, at_second(10));
  const JobId c = arrives(1, at_second(10));
  const JobId d = arrives(2, at_second(20));
  const GpuBlock shared = pool_.block_of(a);
  pool_.decide(at_second(kSlice));
  EXPECT_EQ(pool_.block_of(d), shared);
  EXPECT_TRUE(runs(pool_, b) && runs(pool_, c));
}

// Two of 4 GPUs and four of 2 want twice what there is, half of it each.
TEST_F(GandivaInSlices, SizesShareInProportionToDemand) {
  std::vector<JobId> wide;
  std::vector<JobId> narrow;
  for (int i = 0; i < 2; ++i) wide.push_back(arrives(4, at_second(0)));
  for (int i = 0; i < 4; ++i) narrow.push_back(arrives(2, at_second(0)));
  const Time end = at_second(40 * kSlice);
  play("gandiva", pool_, at_second(0), end);
  const auto had = [&](const std::vector<JobId>& jobs) {
    std::int64_t sum = 0;
    for (const JobId job : jobs) sum += pool_.job(job).gpu_milliseconds_at(end);
    return sum / 1000;
  };
  EXPECT_EQ(had(wide) + had(narrow), 40 * kSlice * 4);
  EXPECT_NEAR(static_cast<double>(had(wide)), 40 * kSlice * 2, 4 * kSlice);
}

TEST_F(GandivaInSlices, ALargeJobGetsItsTurnAmongManySmallOnes) {
  for (int i = 0; i < 12; ++i) arrives(1, at_second(0));
  const JobId wide = arrives(4, at_second(0));
  play("gandiva", pool_, at_second(0), at_second(20 * kSlice));
  EXPECT_GE(pool_.job(wide).running_at(at_second(20 * kSlice)), from_seconds(3 * kSlice));
}

TEST(Gandiva, NoSliceIsTooShortForItsOwnPrice) {
  PoolUnderTest pool{"gandiva", 1, 4, {from_seconds(50), from_seconds(0)}};
  pool.config.round = from_seconds(20);
  pool.submit(a_fixed_job(4, kVeryLong));
  pool.submit(a_fixed_job(4, kVeryLong));
  pool.decide();
  EXPECT_EQ(wake_up_of("gandiva", pool, at_second(0)), at_second(100));
}

TEST(Gandiva, HasASliceOfItsOwn) {
  PoolUnderTest pool{"gandiva", 1, 1, kFreeRescales};
  pool.submit(a_fixed_job(1, kVeryLong));
  pool.submit(a_fixed_job(1, kVeryLong));
  pool.decide();
  EXPECT_EQ(wake_up_of("gandiva", pool, at_second(1)), at_second(1800));
}

// Whoever waits longest goes first at the end of a slice, so nobody waits for more turns than there
// are others.
RC_GTEST_PROP(Gandiva, NobodyWaitsForMoreSlicesThanThereAreOthers, ()) {
  PoolUnderTest pool{"gandiva", between(1, 3), 4, kFreeRescales};
  pool.config.round = from_seconds(kSlice);
  const int count = between(2, 12);
  for (int i = 0; i < count; ++i)
    pool.submit(a_fixed_job(static_cast<std::int32_t>(any_power_of_two(4)), kVeryLong));
  pool.decide();
  for (std::int64_t slice = 1; slice < 40; ++slice) {
    const Time now = at_second(slice * kSlice);
    pool.decide(now);
    for (const JobId id : pool.pool().active) {
      if (runs(pool, id)) continue;
      RC_ASSERT(now - pool.job(id).served.since < from_seconds(kSlice * count));
    }
  }
}

}  // namespace
}  // namespace weir::schedule
