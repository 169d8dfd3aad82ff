// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/workload_estimate.h"

#include <gtest/gtest.h>

#include "schedule/scheduling_testing.h"

namespace weir::schedule {
namespace {

using namespace weir::schedule::testing;

void observe(WorkloadEstimate& estimate, const Shape& shape, int times) {
  for (int i = 0; i < times; ++i) estimate.observe(shape);
}

TEST(WorkloadEstimate, CountsShapesWithoutTheirMemory) {
  WorkloadEstimate estimate;
  estimate.observe(a_task().cpu(1).memory(100).gpus(1));
  estimate.observe(a_task().cpu(1).memory(200).gpus(1));
  ASSERT_EQ(estimate.current().shapes.size(), 1U);
  EXPECT_EQ(estimate.current().shapes[0].count, 2);
}

TEST(WorkloadEstimate, CountsEveryTaskOfAGang) {
  WorkloadEstimate estimate;
  estimate.observe(a_task().gpus(1), 8);
  EXPECT_EQ(estimate.current().shapes[0].count, 8);
  EXPECT_EQ(estimate.observed(), 1);
}

TEST(WorkloadEstimate, IsNotDueBeforeTheFirstReviewAndNotAgainWithoutDrift) {
  WorkloadEstimate estimate;
  observe(estimate, a_task().gpus(1), WorkloadEstimate::kFirstReview - 1);
  EXPECT_FALSE(estimate.is_due());
  observe(estimate, a_task().gpus(1), 1);
  EXPECT_TRUE(estimate.is_due());
  estimate.mark_published();
  observe(estimate, a_task().gpus(1), 10'000);
  EXPECT_FALSE(estimate.is_due());  // the same mix as before
}

TEST(WorkloadEstimate, IsDueWhenTheMixDrifts) {
  WorkloadEstimate estimate;
  observe(estimate, a_task().gpus(1), 1024);
  estimate.mark_published();
  observe(estimate, a_task().gpus(8), 1024);  // half of all now
  EXPECT_TRUE(estimate.is_due());
}

TEST(WorkloadEstimate, ForgetsWhatIsNoLongerSubmitted) {
  WorkloadEstimate estimate;
  observe(estimate, a_task().gpus(1), 20'000);
  observe(estimate, a_task().gpus(2), 200'000);
  const TargetWorkload target = make_target_workload(estimate.current().shapes, 100);
  for (const ExpectedShape& expected : target.shapes) {
    if (expected.shape.gpu_count == 1) {
      EXPECT_LT(expected.count * 100, target.total);
    }
  }
}

TEST(WorkloadEstimate, KeepsABoundedNumberOfShapesAndTheHeavyOnesAmongThem) {
  WorkloadEstimate estimate;
  for (int round = 0; round < 5000; ++round) {
    Shape once = a_task().gpus(1);
    once.cpu = MilliCpu{round + 1};
    estimate.observe(once);
    if (round > 1000) estimate.observe(a_task().gpus(8));
  }
  const TargetWorkload target = estimate.current();
  EXPECT_LE(target.shapes.size(), WorkloadEstimate::kMaxShapes);
  EXPECT_EQ(target.shapes.front().shape.gpu_count, 8);
}

}  // namespace
}  // namespace weir::schedule
