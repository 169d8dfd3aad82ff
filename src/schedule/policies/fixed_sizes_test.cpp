// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/fixed_sizes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/policies/fixed_sizes_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

// Under a policy of fixed sizes that is never asked to decide.
PoolUnderTest a_pool(int nodes, int gpus_per_node) {
  return {"fifo", nodes, gpus_per_node, kTenSeconds};
}

std::vector<WantedBlock> served(const PoolUnderTest& pool, const std::vector<JobId>& order,
                                Time now = {}) {
  return serve_in_order(ViewOf{pool, now}, order);
}

GpuBlock block_in(const std::vector<WantedBlock>& wanted, JobId job) {
  for (const WantedBlock& candidate : wanted) {
    if (candidate.job == job) return candidate.block;
  }
  return kNoGpus;
}

TEST(ServeInOrder, PassesOverWhoDoesNotFit) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId four = submitted(pool, a_fixed_job(4, 100));
  const JobId eight = submitted(pool, a_fixed_job(8, 100));
  const JobId two = submitted(pool, a_fixed_job(2, 100));
  const auto wanted = served(pool, {four, eight, two});
  EXPECT_EQ(block_in(wanted, four).size, 4U);
  EXPECT_TRUE(block_in(wanted, eight).is_none());
  EXPECT_EQ(block_in(wanted, two).size, 2U);
}

TEST(ServeInOrder, ServesTheFirstInTheOrderNotTheFirstThatCame) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId first = submitted(pool, a_fixed_job(8, 100));
  const JobId second = submitted(pool, a_fixed_job(8, 100));
  const auto wanted = served(pool, {second, first});
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_EQ(wanted.front().job, second);
  EXPECT_EQ(wanted.front().reason, (Reason{ReasonCode::policy_order, 1}));
}

TEST(ServeInOrder, StopsWhomTheOrderLeavesNothing) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId runs = submitted(pool, a_fixed_job(8, 100));
  const JobId waits = submitted(pool, a_fixed_job(1, 100));
  pool.resize(runs, {0, 8});
  const auto wanted = served(pool, {waits, runs});
  EXPECT_EQ(block_in(wanted, waits).size, 1U);
  EXPECT_TRUE(block_in(wanted, runs).is_none());
}

TEST(ServeInOrder, LeavesEverybodyInPlaceWhereNobodyStarts) {
  PoolUnderTest pool = a_pool(2, 4);
  const JobId a = submitted(pool, a_fixed_job(1, 100));
  const JobId b = submitted(pool, a_fixed_job(2, 100));
  pool.resize(a, {5, 1});
  pool.resize(b, {2, 2});
  const auto wanted = served(pool, {b, a});
  ASSERT_EQ(wanted.size(), 2U);
  EXPECT_EQ(wanted[0].job, a) << "by ascending id";
  EXPECT_EQ(block_in(wanted, a), (GpuBlock{5, 1}));
  EXPECT_EQ(block_in(wanted, b), (GpuBlock{2, 2}));
}

// The hole beside the one that stays would be the better fit.
TEST(ServeInOrder, WhoStartsTakesThePlaceOfOneOfItsSize) {
  PoolUnderTest pool = a_pool(2, 4);
  const JobId stops = submitted(pool, a_fixed_job(2, 100));
  const JobId stays = submitted(pool, a_fixed_job(2, 100));
  const JobId starts = submitted(pool, a_fixed_job(2, 100));
  pool.resize(stops, {0, 2});
  pool.resize(stays, {4, 2});
  const auto wanted = served(pool, {stays, starts});
  EXPECT_EQ(block_in(wanted, starts), (GpuBlock{0, 2}));
  EXPECT_EQ(block_in(wanted, stays), (GpuBlock{4, 2}));
}

TEST(ServeInOrder, MovesSmallJobsTogetherForALargeOne) {
  PoolUnderTest pool = a_pool(2, 4);
  const JobId a = submitted(pool, a_fixed_job(2, 100));
  const JobId b = submitted(pool, a_fixed_job(2, 100));
  const JobId large = submitted(pool, a_fixed_job(4, 100));
  pool.resize(a, {0, 2});
  pool.resize(b, {4, 2});
  EXPECT_EQ(served(pool, {a, b, large}).size(), 3U);
}

TEST(ServeInOrder, MovesAJobOffADrainedNode) {
  PoolUnderTest pool = a_pool(2, 4);
  const JobId job = submitted(pool, a_fixed_job(2, 100));
  pool.resize(job, {0, 2});
  pool.close({0, 4});
  EXPECT_EQ(block_in(served(pool, {job}), job), (GpuBlock{4, 2}));
}

// With nodes of six GPUs there is one block of four on each.
TEST(ServeInOrder, GivesOthersWhatNobodyBeforeThemHasABlockOf) {
  PoolUnderTest pool = a_pool(1, 6);
  const JobId a = submitted(pool, a_fixed_job(2, 100));
  const JobId b = submitted(pool, a_fixed_job(4, 100));
  const JobId c = submitted(pool, a_fixed_job(1, 100));
  const JobId d = submitted(pool, a_fixed_job(1, 100));
  pool.close({0, 1});  // no block of four is whole
  const auto wanted = served(pool, {b, a, c, d});
  EXPECT_TRUE(block_in(wanted, b).is_none());
  EXPECT_EQ(block_in(wanted, a).size, 2U);
  EXPECT_EQ(block_in(wanted, c).size, 1U);
  EXPECT_EQ(block_in(wanted, d).size, 1U);
}

TEST(ServeInOrder, NeitherStopsNorMovesWhatWouldLoseItsWork) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId tied = submitted(pool, a_fixed_job(1, 100).in_one_piece());
  const JobId eight = submitted(pool, a_fixed_job(8, 100));
  const JobId four = submitted(pool, a_fixed_job(4, 100));
  pool.resize(tied, {5, 1});
  const auto wanted = served(pool, {eight, four, tied});
  EXPECT_EQ(block_in(wanted, tied), (GpuBlock{5, 1}));
  EXPECT_TRUE(block_in(wanted, eight).is_none());
  EXPECT_EQ(block_in(wanted, four), (GpuBlock{0, 4}));
}

TEST(TimeToFinish, CountsTheStartOfAJobThatWaits) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId job = submitted(pool, a_fixed_job(2, 100));
  EXPECT_EQ(time_to_finish(pool.job(job), at_second(50)), from_seconds(110));
}

TEST(TimeToFinish, OfAJobThatStartsIsItsWorkAlone) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId job = submitted(pool, a_fixed_job(2, 100));
  pool.resize(job, {0, 2}, at_second(50));
  EXPECT_EQ(time_to_finish(pool.job(job), at_second(50)), from_seconds(100));
  EXPECT_EQ(time_to_finish(pool.job(job), at_second(54)), from_seconds(100));
  EXPECT_EQ(time_to_finish(pool.job(job), at_second(60)), from_seconds(100));
  EXPECT_EQ(time_to_finish(pool.job(job), at_second(100)), from_seconds(60));
}

TEST(LineOf, TellsWhoRunsAndWhoWaitsAndWhatIsFree) {
  PoolUnderTest pool = a_pool(1, 8);
  const JobId runs = submitted(pool, a_fixed_job(2, 100));
  const JobId four = submitted(pool, a_fixed_job(4, 100));
  const JobId eight = submitted(pool, a_fixed_job(8, 100));
  pool.resize(runs, {0, 2});
  pool.close({7, 1});
  const Line line = line_of(ViewOf{pool, at_second(0)});
  EXPECT_EQ(line.running, std::vector{runs});
  EXPECT_EQ(line.waiting, (std::vector{four, eight}));
  EXPECT_EQ(line.free, 5U);
  EXPECT_EQ(line.least_wanted, 4U);
  EXPECT_TRUE(line.somebody_waiting_fits());
}

TEST(LineOf, NobodyFitsWhereNobodyWaits) {
  PoolUnderTest pool = a_pool(1, 8);
  const Line line = line_of(ViewOf{pool, at_second(0)});
  EXPECT_FALSE(line.somebody_waits());
  EXPECT_FALSE(line.somebody_waiting_fits());
}

// Whatever runs and in whatever order: the first that fits is served, and so on down the order.
RC_GTEST_PROP(ServeInOrder, ServesWhoeverFitsInWhatThoseBeforeLeft, ()) {
  PoolUnderTest pool = a_pool(between(1, 5), *rc::gen::elementOf(std::vector<int>{1, 2, 4, 8}));
  const int count = between(1, 12);
  std::vector<JobId> order;
  for (int i = 0; i < count; ++i)
    order.push_back(
        submitted(pool, a_fixed_job(static_cast<std::int32_t>(any_power_of_two(8)), 50)));
  // Some run already, wherever the same function put them.
  const std::vector<JobId> before = shuffled(order);
  for (const WantedBlock& wanted : served(pool, before)) pool.resize(wanted.job, wanted.block);
  order = shuffled(order);
  const auto wanted = served(pool, order);
  BlockMap map = pool.pool().closed;
  std::uint32_t free = map.free_count();
  for (const JobId id : order) {
    const std::uint32_t gpus = asked_gpus(pool.job(id));
    const GpuBlock block = block_in(wanted, id);
    RC_ASSERT(block.size == (gpus <= free ? gpus : 0));
    if (block.is_none()) continue;
    RC_ASSERT(block.first % block.size == 0);
    RC_ASSERT(map.is_free(block));
    map.take(block);
    free -= block.size;
  }
}

}  // namespace
}  // namespace weir::schedule
