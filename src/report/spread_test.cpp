// SPDX-License-Identifier: Apache-2.0
#include "report/spread.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::report {
namespace {

TEST(Spread, IsMeanAndSampleDeviation) {
  // mean (1 + 2 + 6) / 3 = 3; deviation sqrt((4 + 1 + 9) / 2) = 2.6458
  const std::vector<double> values = {1, 2, 6};
  const auto spread = spread_of(values);
  ASSERT_TRUE(spread);
  EXPECT_DOUBLE_EQ(spread->mean, 3);
  EXPECT_NEAR(spread->stdev, 2.6458, 1e-4);
  EXPECT_EQ(spread->least, 1);
  EXPECT_EQ(spread->most, 6);
  EXPECT_EQ(to_string(spread, 2), "3.00 ± 2.65");
}

TEST(Spread, OneSeedHasNoDeviationAndNoneHasNoFigure) {
  const std::vector<double> one = {95.456};
  EXPECT_EQ(to_string(spread_of(one), 2), "95.46");
  EXPECT_EQ(to_string(spread_of({}), 2), "-");
}

}  // namespace
}  // namespace weir::report
