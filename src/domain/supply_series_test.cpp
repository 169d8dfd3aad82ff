// SPDX-License-Identifier: Apache-2.0
#include "domain/supply_series.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace weir {
namespace {

constexpr Time kBegin{};
constexpr Duration kHour = std::chrono::hours{1};

Time after(double hours) {
  return kBegin + Duration{static_cast<std::int64_t>(hours * 3600e9)};
}

SupplySeries three_days() {
  std::vector<double> values;
  for (int hour = 0; hour < 72; ++hour) values.push_back(100.0 + hour);
  return {kBegin, kHour, values};
}

TEST(SupplySeries, IsConstantWithinAStep) {
  const SupplySeries series{kBegin, kHour, {300, 100}};
  EXPECT_EQ(series.at(after(0)), 300);
  EXPECT_EQ(series.at(after(0.999)), 300);
  EXPECT_EQ(series.at(after(1)), 100);
}

TEST(SupplySeries, IntegratesPartsOfSteps) {
  const SupplySeries series{kBegin, kHour, {300, 100}};
  EXPECT_DOUBLE_EQ(series.integral(after(0.5), after(1.5)), 1800 * 300.0 + 1800 * 100.0);
  EXPECT_DOUBLE_EQ(series.mean(after(0.5), after(1.5)), 200);
  EXPECT_DOUBLE_EQ(series.mean(after(1.5), after(1.5)), 100);
}

TEST(SupplySeries, AKilowattForAnHourEmitsTheIntensity) {
  const SupplySeries series{kBegin, kHour, {300, 100}};
  EXPECT_DOUBLE_EQ(emitted(series, 1000, after(0), after(1)), 300);
}

TEST(SupplySeries, RepeatsTheNearestDayBeyondWhatIsKnown) {
  const SupplySeries series = three_days();
  EXPECT_EQ(series.at(after(-1)), 123);  // the last hour of the first day
  EXPECT_EQ(series.at(after(-24)), 100);
  EXPECT_EQ(series.at(after(72)), 148);  // the first hour of the last day
  EXPECT_EQ(series.at(after(72 + 24 + 5)), 153);
}

TEST(SupplySeries, AShortSeriesRepeatsWhole) {
  const SupplySeries series{kBegin, kHour, {300, 100, 50}};
  EXPECT_EQ(series.at(after(3)), 300);
  EXPECT_EQ(series.at(after(-1)), 50);
}

TEST(SupplySeries, NextStepIsAlwaysLater) {
  const SupplySeries series = three_days();
  EXPECT_EQ(series.next_step(after(0)), after(1));
  EXPECT_EQ(series.next_step(after(0.5)), after(1));
  EXPECT_EQ(series.next_step(after(-0.5)), after(0));
}

TEST(SupplySeries, ShiftedHasTheSameValuesLater) {
  const SupplySeries series = three_days();
  EXPECT_EQ(series.shifted(5 * kHour).at(after(5)), series.at(after(0)));
}

RC_GTEST_PROP(SupplySeriesProperties, TheIntegralIsTheSumOverItsSteps, ()) {
  const auto hours = *rc::gen::inRange(1, 100);
  const auto values = *rc::gen::container<std::vector<double>>(
      static_cast<std::size_t>(hours),
      rc::gen::map(rc::gen::inRange(0, 1000), [](int value) { return value * 0.5; }));
  const SupplySeries series{kBegin, kHour, values};
  const auto from = *rc::gen::inRange<std::int64_t>(-200'000, 600'000);
  const auto length = *rc::gen::inRange<std::int64_t>(0, 500'000);
  Time time = kBegin + from_seconds(from);
  const Time to = time + from_seconds(length);
  double sum = 0;
  while (time < to) {
    const Time next = std::min(to, series.next_step(time));
    sum += series.at(time) * to_seconds(next - time);
    time = next;
  }
  RC_ASSERT(std::abs(series.integral(kBegin + from_seconds(from), to) - sum) <= 1e-6 + 1e-9 * sum);
}

}  // namespace
}  // namespace weir
