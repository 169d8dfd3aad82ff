// SPDX-License-Identifier: Apache-2.0
#include "report/svg_axes.h"

#include <gmock/gmock.h>

namespace weir::report {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

std::vector<std::string> texts(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) result.push_back(tick.text);
  return result;
}

TEST(TimeTicks, StandAtRoundTimesOfTheTrace) {
  EXPECT_THAT(texts(time_ticks(Time{}, Time{6h}, 6)),
              ElementsAre("0s", "1h", "2h", "3h", "4h", "5h", "6h"));
  const auto ticks = time_ticks(Time{90min}, Time{20h}, 5);
  EXPECT_THAT(texts(ticks), ElementsAre("6h", "12h", "18h"));
  EXPECT_EQ(ticks.front().value, 4.5 * 3600) << "seconds after the left end";
}

TEST(TimeTicks, ShowDatesAsDates) {
  const Time morning{1'794'733'200s};  // 2026-11-15T09:00:00Z
  EXPECT_THAT(texts(time_ticks(morning, morning + 24h, 4)),
              ElementsAre("12:00", "18:00", "11-16", "06:00"));
}

TEST(LogTicks, ArePowersOfTenAroundTheData) {
  EXPECT_THAT(log_ticks(0.02, 30), ElementsAre(::testing::DoubleEq(0.01), ::testing::DoubleEq(0.1),
                                               ::testing::DoubleEq(1), ::testing::DoubleEq(10),
                                               ::testing::DoubleEq(100)));
  EXPECT_EQ(log_ticks(1, 1).size(), 2U);
}

TEST(Axis, OnALogScaleEqualFactorsAreEqualWidths) {
  const Axis axis{1, 100, 0, 200, true};
  EXPECT_DOUBLE_EQ(axis.at(10), 100);
  EXPECT_DOUBLE_EQ(axis.at(0), 0) << "what a log scale cannot show stands at its left end";
}

}  // namespace
}  // namespace weir::report
