// SPDX-License-Identifier: Apache-2.0
#include "domain/target_workload.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir {
namespace {

Shape gpus(std::int64_t cores, std::int64_t share, std::int64_t memory = 0) {
  return Shape{MilliCpu{cores * 1000}, Mebibytes{memory}, 1, MilliGpu{share}, {}};
}

TEST(TargetWorkload, MergesShapesThatDifferInMemoryOnly) {
  const TargetWorkload target =
      make_target_workload({{gpus(1, 500, 10), 2}, {gpus(1, 500, 20), 3}});
  ASSERT_EQ(target.shapes.size(), 1U);
  EXPECT_EQ(target.shapes[0].count, 5);
  EXPECT_EQ(target.shapes[0].shape.memory, Mebibytes{0});
}

TEST(TargetWorkload, KeepsThePopularShapesUntilTheyCoverTheShareAskedFor) {
  const TargetWorkload target = make_target_workload(
      {{gpus(1, 100), 3}, {gpus(1, 200), 90}, {gpus(1, 300), 5}, {gpus(1, 400), 2}}, 95);
  ASSERT_EQ(target.shapes.size(), 2U);  // 90 + 5 of 100
  EXPECT_EQ(target.shapes[0].count, 90);
  EXPECT_EQ(target.shapes[1].count, 5);
  EXPECT_EQ(target.total, 95);
}

TEST(TargetWorkload, DemandCountsAlsoWhatWasLeftOut) {
  const TargetWorkload target = make_target_workload({{gpus(2, 500), 99}, {gpus(4, 1000), 1}}, 95);
  EXPECT_EQ(target.shapes.size(), 1U);
  EXPECT_EQ(target.gpu_demand, MilliGpu{99 * 500 + 1000});
  EXPECT_EQ(target.cpu_demand, MilliCpu{99 * 2000 + 4000});
}

TEST(TargetWorkload, AmongEquallyPopularShapesTheLargerComesFirst) {
  const TargetWorkload target =
      make_target_workload({{gpus(1, 900), 1}, {gpus(2, 100), 1}, {gpus(1, 950), 1}}, 100);
  EXPECT_EQ(target.shapes[0].shape, gpus(2, 100));
  EXPECT_EQ(target.shapes[1].shape, gpus(1, 950));
}

TEST(TargetWorkload, OfNothingIsEmpty) {
  const TargetWorkload target = make_target_workload({});
  EXPECT_TRUE(target.shapes.empty());
  EXPECT_EQ(target.total, 0);
}

RC_GTEST_PROP(TargetWorkload, DoesNotDependOnTheOrderOfItsInput,
              (std::vector<std::uint8_t> counts)) {
  std::vector<ExpectedShape> shapes;
  for (std::size_t i = 0; i < counts.size(); ++i)
    shapes.push_back({gpus(1, static_cast<int>(i % 7) + 1), counts[i]});
  const TargetWorkload target = make_target_workload(shapes);
  std::reverse(shapes.begin(), shapes.end());
  RC_ASSERT(make_target_workload(shapes) == target);
}

}  // namespace
}  // namespace weir
