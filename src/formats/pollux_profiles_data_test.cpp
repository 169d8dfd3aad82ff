// SPDX-License-Identifier: Apache-2.0
//
// The published step times, against the throughput tables that were derived from them.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "formats/data_dir_testing.h"
#include "formats/pollux_profiles.h"
#include "formats/temporary_file_testing.h"
#include "formats/throughput_table.h"

namespace weir::formats {
namespace {

TEST(PolluxProfilesData, HasSixModels) {
  WEIR_NEEDS_DATA(data);
  const auto profiles = read_pollux_profiles(data / "elasticflow" / "pollux_profiles");
  ASSERT_TRUE(profiles) << mistakes_of(profiles);
  EXPECT_EQ(profiles->size(), 6U);
  for (const auto& [model, profile] : *profiles)
    EXPECT_GT(profile.placement_count(), 100U) << model;
}

TEST(PolluxProfilesData, GiveTheThroughputTablesOfTheT4) {
  WEIR_NEEDS_DATA(data);
  const auto profiles = read_pollux_profiles(data / "elasticflow" / "pollux_profiles");
  const auto book = read_throughput_tables(data / "elasticflow" / "throughput_t4");
  ASSERT_TRUE(profiles && book);
  double worst = 0;
  int points = 0;
  for (const auto& [key, curve] : book->curves) {
    ASSERT_TRUE(profiles->contains(key.model)) << key.model;
    const Curve derived = profiles->at(key.model).curve_at(key.global_batch);
    EXPECT_EQ(derived.measured().size(), curve.measured().size()) << key.model;
    for (const CurvePoint& point : curve.measured()) {
      const auto rate = static_cast<double>(derived.rate_at(point.gpus).value);
      worst = std::max(worst, std::abs(rate / static_cast<double>(point.rate.value) - 1));
      ++points;
    }
  }
  std::cout << points << " points, the farthest is " << worst * 1e6 << " millionths away\n";
  EXPECT_EQ(points, 60);
  EXPECT_LT(worst, 1e-4);
}

double gain(const Curve& adaptive, const Curve& fixed, std::int32_t gpus) {
  const std::int64_t before = fixed.rate_at(gpus).value;
  return static_cast<double>(adaptive.rate_at(gpus).value) / static_cast<double>(before);
}

// At the traces' batches, with up to eight times as much. Where a larger batch was measured to take
// less time than a smaller one, it helps a little even without noise.
TEST(PolluxProfilesData, AnAdaptiveBatchHelpsOnManyGpusWhereThereIsNoise) {
  WEIR_NEEDS_DATA(data);
  const auto profiles = read_pollux_profiles(data / "elasticflow" / "pollux_profiles");
  const auto book = read_throughput_tables(data / "elasticflow" / "throughput_t4");
  ASSERT_TRUE(profiles && book);
  for (const auto& [key, curve] : book->curves) {
    const PolluxProfile& profile = profiles->at(key.model);
    const auto adaptive = [&, batch = key.global_batch](std::int64_t batches_of_noise) {
      return profile.adaptive_curve({batch, batches_of_noise * batch}, 8 * batch);
    };
    for (const CurvePoint& point : curve.measured()) {
      const double without = gain(adaptive(0), curve, point.gpus);
      const double with = gain(adaptive(10), curve, point.gpus);
      EXPECT_LT(without, 1.3) << key.model << " on " << point.gpus;
      EXPECT_GE(with, without - 1e-6) << key.model << " on " << point.gpus;
      if (point.gpus == 1) {
        EXPECT_LT(with, 1.01) << key.model;
      }
    }
    const std::int32_t most = curve.measured().back().gpus;
    EXPECT_GT(gain(adaptive(10), curve, most), 1.2) << key.model;
  }
}

}  // namespace
}  // namespace weir::formats
