// SPDX-License-Identifier: Apache-2.0
#include "schedule/admit/margin.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/training_testing.h"

namespace weir::schedule {
namespace {

using namespace testing;

const PromiseMade* promise_in(const std::vector<Record>& records) {
  for (const Record& record : records)
    if (const auto* made = std::get_if<PromiseMade>(&record.what)) return made;
  return nullptr;
}
const PromiseRefused* refusal_in(const std::vector<Record>& records) {
  for (const Record& record : records)
    if (const auto* refused = std::get_if<PromiseRefused>(&record.what)) return refused;
  return nullptr;
}

// 100 seconds of work on one GPU, 50 on two.
TrainingJobBuilder a_job_with(Duration margin, std::int64_t deadline) {
  return a_training_job()
      .curve({{1, 10}, {2, 20}})
      .iterations(1000)
      .deadline(deadline)
      .margin(margin);
}

TEST(Margin, APromiseIsPlannedToBeKeptWithRoomToSpare) {
  PoolUnderTest pool{"weir", 1, 2, kFreeRescales};
  const auto records = pool.submit(a_job_with(from_seconds(20), 110));
  const PromiseMade* made = promise_in(records);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->deadline, at_second(110));
  EXPECT_LE(made->timeline.end, at_second(90));
}

TEST(Margin, WithoutRoomToSpareNothingIsPromised) {
  PoolUnderTest pool{"weir", 1, 1, kFreeRescales};
  EXPECT_NE(promise_in(pool.submit(a_job_with(from_seconds(9), 110))), nullptr);
  PoolUnderTest other{"weir", 1, 1, kFreeRescales};
  const auto refused = other.submit(a_job_with(from_seconds(11), 110));
  ASSERT_NE(refusal_in(refused), nullptr);
}

TEST(Margin, APlanThatIsMadeAnewKeepsTheRoom) {
  PoolUnderTest pool{"weir", 1, 1, kFreeRescales};
  ASSERT_NE(promise_in(pool.submit(a_job_with(from_seconds(50), 300))), nullptr);
  const JobId first = pool.latest();
  // It must go first; the other moves, but not into its room to spare.
  ASSERT_NE(promise_in(pool.submit(a_job_with(Duration{0}, 101))), nullptr);
  EXPECT_LE(pool.job(first).timeline.end, at_second(250));
  // Three cannot all keep their room.
  EXPECT_EQ(promise_in(pool.submit(a_job_with(Duration{0}, 230))), nullptr);
}

TEST(Margin, RoomThatIsUsedUpDoesNotPutThePromiseAtRisk) {
  PoolUnderTest pool{"weir", 1, 1, kFreeRescales};
  ASSERT_NE(promise_in(pool.submit(a_job_with(from_seconds(50), 160))), nullptr);
  const JobId job = pool.latest();
  pool.decide();
  // A third slower than it was foretold: 100 seconds become 150.
  const auto records = pool.report(job, work_of_iterations(200), at_second(30));
  for (const Record& record : records)
    EXPECT_FALSE(std::holds_alternative<PromiseAtRisk>(record.what));
  EXPECT_FALSE(pool.job(job).is_at_risk);
}

RC_GTEST_PROP(Margin, WhatIsOfferedIsPromisedWithTheSameShareToSpare, ()) {
  const auto permille = *rc::gen::inRange<std::int64_t>(0, 500);
  const auto share_of = [&](Duration window) { return window / 1000 * permille; };
  const auto asked = *rc::gen::inRange<std::int64_t>(1, 300);
  const auto busy = *rc::gen::inRange<std::int64_t>(0, 4);
  const auto prepare = [&](PoolUnderTest& pool) {
    for (std::int64_t i = 0; i < busy; ++i) pool.submit(a_job_with(Duration{0}, 200 + 60 * i));
  };
  PoolUnderTest pool{"weir", 1, 1, kFreeRescales};
  pool.config.has_gate = false;
  prepare(pool);
  const auto records = pool.submit(a_job_with(share_of(from_seconds(asked)), asked));
  const PromiseRefused* refused = refusal_in(records);
  if (refused == nullptr) return;  // promised at once
  RC_ASSERT(refused->earliest.has_value());
  PoolUnderTest again{"weir", 1, 1, kFreeRescales};
  again.config.has_gate = false;
  prepare(again);
  const Time offer = *refused->earliest;
  RC_ASSERT(offer > at_second(asked));
  const auto job = a_job_with(share_of(offer - Time{}), 1).deadline(offer);
  const bool is_promised = promise_in(again.submit(job)) != nullptr;
  RC_ASSERT(is_promised);
}

}  // namespace
}  // namespace weir::schedule
