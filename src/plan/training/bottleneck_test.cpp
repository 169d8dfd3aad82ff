// SPDX-License-Identifier: Apache-2.0
#include "plan/training/bottleneck.h"

#include <gtest/gtest.h>

namespace weir::plan {
namespace {

TEST(Bottleneck, IsTheStageThatLacksMostMemoryElseTheSlowest) {
  EXPECT_EQ(by_pressure({{.time = 3}, {.time = 5}, {.time = 4}}), (std::vector{1, 2, 0}));
  EXPECT_EQ(by_pressure({{.time = 3, .over_mib = 7}, {.time = 5}, {.time = 4, .over_mib = 9}}),
            (std::vector{2, 0, 1}));
}

TEST(Bottleneck, IsShortOfWhatItHasTheLargestShareOf) {
  const std::vector<StageLoad> loads{
      {.compute = 10, .communication = 2, .recomputation = 1, .over_mib = -5},
      {.compute = 10, .communication = 1, .recomputation = 3, .over_mib = 5}};
  EXPECT_EQ(by_share(loads, 0).front(), PlanResource::communication);
  EXPECT_EQ(by_share(loads, 0).back(), PlanResource::memory);
  EXPECT_EQ(by_share(loads, 1).front(), PlanResource::memory);
  EXPECT_EQ(by_share(loads, 1)[1], PlanResource::recomputation);
}

}  // namespace
}  // namespace weir::plan
