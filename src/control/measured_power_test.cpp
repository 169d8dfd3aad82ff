// SPDX-License-Identifier: Apache-2.0
#include "control/measured_power.h"

#include <gtest/gtest.h>

namespace weir::control {
namespace {

// 1 GPU 400 W, 250 W at half the clock; 2 GPUs twice that.
const PowerTable kModel{{1, 500, IterationRate{8}, 250'000},
                        {1, 1000, IterationRate{10}, 400'000},
                        {2, 500, IterationRate{14}, 500'000},
                        {2, 1000, IterationRate{18}, 800'000}};

TEST(MeasuredPower, TheFirstMeasurementScalesTheWholeTable) {
  const auto after = table_when_measured(kModel, false, 1, 500, 200'000);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, (PowerTable{{1, 500, IterationRate{8}, 200'000},
                                {1, 1000, IterationRate{10}, 320'000},
                                {2, 500, IterationRate{14}, 400'000},
                                {2, 1000, IterationRate{18}, 640'000}}));
}

TEST(MeasuredPower, LaterOnesAreOfTheirSizeAlone) {
  const auto after = table_when_measured(kModel, true, 2, 1000, 600'000);
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)[1].milliwatts, 400'000);
  EXPECT_EQ((*after)[2].milliwatts, 375'000);
  EXPECT_EQ((*after)[3].milliwatts, 600'000);
}

TEST(MeasuredPower, NoiseAndUnknownSizesChangeNothing) {
  EXPECT_FALSE(table_when_measured(kModel, false, 1, 1000, 410'000));
  EXPECT_FALSE(table_when_measured(kModel, false, 1, 1000, 0));
  EXPECT_FALSE(table_when_measured(kModel, false, 4, 1000, 900'000));
}

TEST(MeasuredPower, ANewModelKeepsWhatWasMeasured) {
  const PowerTable measured = *table_when_measured(kModel, false, 1, 1000, 300'000);
  PowerTable model = kModel;
  model.push_back({4, 1000, IterationRate{30}, 1'600'000});
  const PowerTable after = as_measured(model, measured);
  EXPECT_EQ(after[0].milliwatts, 187'500);
  EXPECT_EQ(after[1].milliwatts, 300'000);
  EXPECT_EQ(after[3].milliwatts, 600'000);
  EXPECT_EQ(after[4].milliwatts, 1'600'000) << "a size that was never seen";
}

}  // namespace
}  // namespace weir::control
