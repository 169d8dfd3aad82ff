// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/fit_power.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace weir::predict {
namespace {

TimeModel a_model() {
  TimeModel model;
  model.per_iteration = 0.02;
  model.per_sample = 0.001;
  model.per_sample_at_full_clock = 0.0008;
  model.sync_inside_node = 0.004;
  model.sync_volume_inside_node = 0.01;
  return model;
}

ProfilePoint point_of(const TimeModel& model, const GpuPower& power, const JobConfiguration& at) {
  const double compute = model.compute_seconds(at.local_batch, at.clock);
  const double seconds = model.iteration_seconds(compute, model.sync_seconds(at.gpus, at.nodes));
  return {at, seconds, at.gpus * power.joules(at.clock, compute, seconds) / seconds};
}

std::vector<ProfilePoint> grid(const TimeModel& model, const GpuPower& power) {
  std::vector<ProfilePoint> points;
  for (const std::int32_t gpus : {1, 2, 4, 8})
    for (const double batch : {16.0, 64.0})
      for (const double clock : {0.6, 0.8, 1.0})
        points.push_back(point_of(model, power, {gpus, 1, batch, clock}));
  return points;
}

TEST(FitPower, FindsTheModelBehindExactPoints) {
  const GpuPower power{300, 0.4, 0.25};
  const FittedJob job{grid(a_model(), power)};
  ASSERT_TRUE(job.fit());
  EXPECT_EQ(job.fit()->time_quality.points, 24U);
  EXPECT_LT(job.fit()->time_quality.worst_error, 1e-3);
  EXPECT_LT(job.fit()->power_quality.worst_error, 1e-3);
  EXPECT_NEAR(job.fit()->time.per_sample_at_full_clock, 0.0008, 1e-5);
  EXPECT_NEAR(job.fit()->power.full_watts, 300, 1);
  EXPECT_NEAR(job.fit()->power.static_share, 0.4, 0.01);
  EXPECT_NEAR(job.fit()->power.waiting_share, 0.25, 0.02);
  const JobConfiguration between{4, 1, 32, 0.7};
  const auto predicted = job.predict(between);
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->source, PredictionSource::fitted);
  const ProfilePoint truth = point_of(a_model(), power, between);
  EXPECT_NEAR(predicted->seconds, truth.seconds, 0.002 * truth.seconds);
  EXPECT_NEAR(predicted->watts, truth.watts, 0.002 * truth.watts);
}

TEST(FitPower, WhatWasMeasuredIsUsedAsItIs) {
  auto points = grid(a_model(), GpuPower{});
  points[5].seconds *= 1.1;
  const FittedJob job{points};
  const auto predicted = job.predict(points[5].at);
  ASSERT_TRUE(predicted);
  EXPECT_EQ(predicted->source, PredictionSource::measured);
  EXPECT_EQ(predicted->seconds, points[5].seconds);
  EXPECT_GT(job.fit()->time_quality.worst_error, 0.05);
}

TEST(FitPower, ALightJobHasNoPowerThatFollowsTheClock) {
  std::vector<ProfilePoint> points;
  for (const double clock : {0.5, 0.6, 0.7, 0.8, 0.9, 1.0})
    points.push_back({{1, 1, 32, clock}, 0.01, 45});
  const FittedJob job{points};
  ASSERT_TRUE(job.fit());
  EXPECT_NEAR(job.fit()->power.static_share, 1, 1e-6);
  EXPECT_NEAR(job.fit()->power.full_watts, 45, 1e-3);
  EXPECT_NEAR(job.fit()->time.per_sample_at_full_clock, 0, 1e-8);
}

TEST(FitPower, FewPointsAreInterpolated) {
  const FittedJob job{
      {{{1, 1, 32, 0.5}, 0.4, 100}, {{1, 1, 32, 1}, 0.1, 400}, {{2, 1, 32, 1}, 0.2, 800}}};
  EXPECT_FALSE(job.fit());
  const auto middle = job.predict({1, 1, 32, std::sqrt(0.5)});  // half way in logarithms
  ASSERT_TRUE(middle);
  EXPECT_EQ(middle->source, PredictionSource::interpolated);
  EXPECT_NEAR(middle->seconds, 0.2, 1e-9);
  EXPECT_NEAR(middle->watts, 200, 1e-6);
  EXPECT_FALSE(job.predict({1, 1, 32, 0.4}));  // below all
  EXPECT_FALSE(job.predict({2, 1, 32, 0.7}));  // no neighbour on that side
  EXPECT_FALSE(job.predict({1, 1, 64, 0.7}));  // differs in two ways
  EXPECT_FALSE(job.predict({4, 1, 32, 1}));
}

TEST(FitPower, DoesNotAnswerForWhatItsPointsDoNotReach) {
  std::vector<ProfilePoint> points;
  for (const double batch : {8.0, 16.0, 32.0, 64.0, 96.0, 128.0})
    points.push_back(point_of(a_model(), GpuPower{}, {1, 1, batch, 1}));
  const FittedJob job{points};
  ASSERT_TRUE(job.fit());
  EXPECT_TRUE(job.predict({1, 1, 48, 1}));
  EXPECT_FALSE(job.predict({1, 1, 48, 0.8}));  // one clock only
  EXPECT_FALSE(job.predict({2, 1, 48, 1}));    // one GPU only
}

TEST(FitPower, TellsOverlapFromTheSum) {
  TimeModel model = a_model();
  model.overlap = 3;
  model.sync_inside_node = 0.03;
  const FittedJob job{grid(model, GpuPower{})};
  ASSERT_TRUE(job.fit());
  EXPECT_LT(job.fit()->time_quality.worst_error, 0.005);
  EXPECT_NEAR(job.fit()->time.overlap, 3, 0.3);
}

TEST(FitPower, FitsSyncAcrossNodes) {
  TimeModel model = a_model();
  model.sync_across_nodes = 0.005;
  model.sync_volume_across_nodes = 0.03;
  model.sync_per_node = 0.001;
  auto points = grid(model, GpuPower{});
  for (const std::int32_t nodes : {2, 4, 8})
    points.push_back(point_of(model, GpuPower{}, {8 * nodes, nodes, 64, 1}));
  const FittedJob job{points};
  ASSERT_TRUE(job.fit());
  EXPECT_LT(job.fit()->time_quality.worst_error, 0.01);
  const auto predicted = job.predict({32, 4, 16, 0.8});
  ASSERT_TRUE(predicted);
  EXPECT_NEAR(predicted->seconds, point_of(model, GpuPower{}, {32, 4, 16, 0.8}).seconds, 0.002);
}

// Whatever was measured: no coefficient below 0, and the quality is that of the points.
RC_GTEST_PROP(FitPower, CoefficientsAreNeverNegative, ()) {
  std::vector<ProfilePoint> points;
  for (const std::int32_t gpus : {1, 2, 8})
    for (const double batch : {8.0, 32.0})
      for (const double clock : {0.7, 1.0})
        points.push_back({{gpus, 1, batch, clock},
                          *rc::gen::inRange(1, 1000) / 1e3,
                          *rc::gen::inRange(20, 4000) / 1.0});
  const FittedJob job{points};
  RC_ASSERT(job.fit().has_value());
  const TimeModel& time = job.fit()->time;
  for (const double value :
       {time.per_iteration, time.per_sample, time.per_sample_at_full_clock, time.sync_inside_node,
        time.sync_volume_inside_node, time.sync_across_nodes})
    RC_ASSERT(value >= 0);
  RC_ASSERT(time.overlap >= 1 && time.overlap <= 10);
  const GpuPower& power = job.fit()->power;
  RC_ASSERT(power.static_share >= 0 && power.static_share <= 1);
  RC_ASSERT(power.waiting_share >= 0 && power.waiting_share <= 1);
  RC_ASSERT(job.fit()->time_quality.mean_error <= job.fit()->time_quality.worst_error);
}

}  // namespace
}  // namespace weir::predict
