// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/power_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::predict {
namespace {

TEST(TimeModel, OnlyTheClockBoundShareSlowsDownWithTheClock) {
  TimeModel model;
  model.per_iteration = 0.01;
  model.per_sample = 0.003;
  model.per_sample_at_full_clock = 0.002;
  EXPECT_DOUBLE_EQ(model.compute_seconds(10, 1), 0.01 + 10 * 0.005);
  EXPECT_DOUBLE_EQ(model.compute_seconds(10, 0.5), 0.01 + 10 * (0.003 + 0.004));
}

TEST(TimeModel, SyncHasTheShapeOfARingAllReduce) {
  TimeModel model;
  model.sync_inside_node = 0.001;
  model.sync_volume_inside_node = 0.01;
  model.sync_across_nodes = 0.002;
  model.sync_volume_across_nodes = 0.1;
  model.sync_per_node = 0.003;
  EXPECT_EQ(model.sync_seconds(1, 1), 0);
  EXPECT_DOUBLE_EQ(model.sync_seconds(4, 1), 0.001 + 0.01 * 1.5);            // 2 * 3/4
  EXPECT_DOUBLE_EQ(model.sync_seconds(16, 2), 0.002 + 0.1 * 1.875 + 0.006);  // 2 * 15/16
}

TEST(TimeModel, OverlapGoesFromTheSumToTheLonger) {
  TimeModel model;
  EXPECT_DOUBLE_EQ(model.iteration_seconds(3, 4), 7);
  model.overlap = 2;
  EXPECT_DOUBLE_EQ(model.iteration_seconds(3, 4), 5);
  model.overlap = 10;
  EXPECT_NEAR(model.iteration_seconds(3, 4), 4, 0.03);
  EXPECT_DOUBLE_EQ(model.iteration_seconds(3, 0), 3);
}

TEST(GpuPower, IsStaticPlusTheCubeOfTheClock) {
  const GpuPower gpu;  // p0 140 W, p1 260 W, p2 78 W
  EXPECT_DOUBLE_EQ(gpu.computing_watts(1), 400);
  EXPECT_DOUBLE_EQ(gpu.computing_watts(0.5), 140 + 260.0 / 8);
  EXPECT_DOUBLE_EQ(gpu.waiting_watts(1), 218);
  EXPECT_DOUBLE_EQ(gpu.waiting_watts(0.5), 140 + 78.0 / 8);
  EXPECT_DOUBLE_EQ(gpu.joules(1, 2, 3), 400 * 2 + 218);
}

// Waiting is never dearer than computing, and a lower clock never draws more.
RC_GTEST_PROP(GpuPower, FallsWithTheClockAndWithWaiting, ()) {
  GpuPower gpu;
  gpu.static_share = *rc::gen::inRange(0, 1001) / 1000.0;
  gpu.waiting_share = *rc::gen::inRange(0, 1001) / 1000.0;
  const int low = *rc::gen::inRange(1, 1001);
  const int high = *rc::gen::inRange(low, 1001);
  RC_ASSERT(gpu.computing_watts(low / 1000.0) <= gpu.computing_watts(high / 1000.0));
  RC_ASSERT(gpu.waiting_watts(low / 1000.0) <= gpu.computing_watts(low / 1000.0) * (1 + 1e-12));
}

}  // namespace
}  // namespace weir::predict
