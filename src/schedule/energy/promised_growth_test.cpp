// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "schedule/policies/fixed_sizes_testing.h"

namespace weir::schedule {
namespace {

using namespace testing;

// Half of the gain of each doubling goes nowhere: 1, 2, 3, 4 iterations a second on 1, 2, 4, 8 GPUs.
TrainingJobBuilder a_promised_job(std::int64_t deadline) {
  return a_training_job()
      .curve({{1, 1}, {2, 2}, {4, 3}, {8, 4}})
      .iterations(1000)
      .deadline(deadline);
}

// Energy costs nothing here, so more GPUs are always welcome.
TEST(PromisedGrowth, AJobWithTimeToSpareGetsWhatNobodyWants) {
  PoolUnderTest pool{"green", 1, 8, kTenSeconds};
  const JobId job = submitted(pool, a_promised_job(3000));
  pool.decide();
  EXPECT_EQ(pool.job(job).block.size, 8U);
}

// Four GPUs from the first second on just do: the way to eight and back is not in it.
TEST(PromisedGrowth, AJobWithoutTimeToSpareStaysWithItsPlan) {
  PoolUnderTest pool{"green", 1, 8, kTenSeconds};
  const auto due_at = [&pool](std::int64_t second) {
    Timeline timeline;
    timeline.steps = {{at_second(0), GpuBlock{0, 4}}};
    timeline.end = at_second(second);
    return pool.promise(a_training_job().curve({{4, 3}, {8, 4}}).iterations(999).deadline(second),
                        timeline);
  };
  const JobId tight = due_at(344);
  pool.decide();
  EXPECT_EQ(pool.job(tight).block.size, 4U);
  pool.finish(tight);
  const JobId loose = due_at(400);
  pool.decide();
  EXPECT_EQ(pool.job(loose).block.size, 8U);
}

TEST(PromisedGrowth, ItNeverCostsSomebodyElseThePromisedGpus) {
  PoolUnderTest pool{"green", 1, 8, kTenSeconds};
  const JobId first = submitted(pool, a_promised_job(3000));
  pool.decide();
  ASSERT_EQ(pool.job(first).block.size, 8U);
  pool.submit(a_promised_job(400), at_second(100));
  pool.decide(at_second(100));
  for (const JobId id : pool.pool().active) {
    const TrainingJob& job = pool.job(id);
    ASSERT_TRUE(job.is_promised());
    EXPECT_GE(job.block.size, job.timeline.block_at(at_second(100)).size);
  }
}

TEST(PromisedGrowth, WhatWouldBeginAnewStaysWhereItIs) {
  PoolUnderTest pool{"green", 1, 8, kTenSeconds};
  const JobId job = submitted(pool, a_promised_job(3000).in_one_piece());
  pool.decide();
  EXPECT_EQ(pool.job(job).block.size, pool.job(job).timeline.block_at(at_second(0)).size);
}

}  // namespace
}  // namespace weir::schedule
