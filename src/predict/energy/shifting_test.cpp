// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/shifting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>

namespace weir::predict {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

const Time kStart{Duration{240h}};

double cost_of(std::uint32_t hours, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if ((hours >> i & 1U) != 0) sum += values[i];
  }
  return sum;
}

// Tries every set of hours, and every piece.
ShiftCost brute_force(const std::vector<double>& actual, const std::vector<double>& expected,
                      std::int32_t hours) {
  const auto length = static_cast<std::uint32_t>(hours);
  const std::uint32_t piece = (1U << length) - 1;
  std::uint32_t perfect = piece;
  std::uint32_t forecast = piece;
  std::uint32_t contiguous = piece;
  for (std::uint32_t set = 0; set < 1U << actual.size(); ++set) {
    if (std::popcount(set) != hours) continue;
    if (cost_of(set, actual) < cost_of(perfect, actual)) perfect = set;
    if (cost_of(set, expected) < cost_of(forecast, expected)) forecast = set;
  }
  for (std::size_t i = 0; i + length <= actual.size(); ++i) {
    if (cost_of(piece << i, expected) < cost_of(contiguous, expected)) contiguous = piece << i;
  }
  return {cost_of(piece, actual), cost_of(perfect, actual), cost_of(forecast, actual),
          cost_of(contiguous, actual)};
}

// Whole numbers, so that sums are exact in any order. Sums of different powers of two differ, so that
// the forecast's choice is the only one.
RC_GTEST_PROP(Shifting, FindsWhatBruteForceOverAllSetsOfHoursFinds, ()) {
  const auto within = *rc::gen::inRange<std::int32_t>(1, 10);
  const auto hours = *rc::gen::inRange<std::int32_t>(1, within + 1);
  std::vector<double> actual;
  std::vector<double> expected;
  for (std::int32_t i = 0; i < within; ++i) {
    actual.push_back(*rc::gen::inRange(0, 500));
    expected.push_back(1 << i);
  }
  for (std::size_t i = expected.size(); i > 1; --i)
    std::swap(expected[i - 1], expected[*rc::gen::inRange<std::size_t>(0, i)]);
  RC_ASSERT(shift_cost(actual, expected, hours) == brute_force(actual, expected, hours));
}

RC_GTEST_PROP(Shifting, CostsNoMoreWithPerfectKnowledgeThanInAnyOtherWay, ()) {
  const auto within = *rc::gen::inRange<std::int32_t>(1, 40);
  const auto hours = *rc::gen::inRange<std::int32_t>(1, within + 1);
  const auto values = [&] {
    std::vector<double> drawn;
    for (std::int32_t i = 0; i < within; ++i) drawn.push_back(*rc::gen::inRange(0, 9));
    return drawn;
  };
  const std::vector<double> actual = values();
  const ShiftCost cost = shift_cost(actual, values(), hours);
  RC_ASSERT(cost.perfect <= std::min({cost.at_once, cost.forecast, cost.contiguous}));
  const ShiftCost known = shift_cost(actual, actual, hours);
  RC_ASSERT(known.forecast == known.perfect);
  RC_ASSERT(known.contiguous <= known.at_once);
}

TEST(Shifting, ChoosesByTheForecastAndPaysWhatCameTrue) {
  // By hand: at once 9 + 5; perfect 1 + 2; the forecast likes hours 1 and 3: 5 + 2; in one piece
  // hours 0 and 1 are expected at 7, 1 and 2 at 8, 2 and 3 at 9.
  const ShiftCost cost =
      shift_cost(std::vector<double>{9, 5, 1, 2}, std::vector<double>{6, 1, 7, 2}, 2);
  EXPECT_EQ(cost, (ShiftCost{14, 3, 7, 14}));
}

TEST(Shifting, GivesTiesToTheEarlierHour) {
  const ShiftCost cost =
      shift_cost(std::vector<double>{4, 3, 2, 1}, std::vector<double>{5, 5, 5, 5}, 2);
  EXPECT_EQ(cost, (ShiftCost{7, 3, 7, 7}));
}

TEST(Shifting, SubmitsFourTimesADayAndLeavesOutWindowsBeyondTheForecast) {
  std::vector<double> values(96, 100.0);
  for (std::size_t i = 12; i < 96; i += 24) values[i] = 0;
  const SupplySeries actual{kStart, 1h, values};
  const ForecastBook book{{{kStart, actual}}};
  EXPECT_EQ(shift_savings(actual, book, {1, 24}).submissions, 4U);
  EXPECT_EQ(shift_savings(actual, book, {1, 24}).first, kStart);
  EXPECT_EQ(shift_savings(actual, book, {1, 24}).last, kStart + 18h);
  EXPECT_EQ(shift_savings(actual, book, {1, 78}).submissions, 4U);
  EXPECT_EQ(shift_savings(actual, book, {1, 79}).submissions, 3U);
  EXPECT_EQ(shift_savings(actual, book, {1, 96}).submissions, 1U);
  const ShiftSavings none = shift_savings(actual, book, {1, 97});
  EXPECT_EQ(none.submissions, 0U);
  EXPECT_FALSE(none.perfect_percent());
}

TEST(Shifting, SavesOfAllSubmissionsTogether) {
  // One hour of two. At 0 h: 100 or 50. At 6 h: 10 or 20. At 12 h and 18 h the series has ended.
  std::vector<double> values = {100, 50, 1, 1, 1, 1, 10, 20};
  const SupplySeries actual{kStart, 1h, values};
  std::vector<double> guess(20, 30.0);
  guess[7] = 5;  // waits in vain
  guess[1] = 5;
  const ForecastBook book{{{kStart, SupplySeries{kStart, 1h, guess}}}};
  const ShiftSavings savings = shift_savings(actual, book, {1, 2});
  EXPECT_EQ(savings.submissions, 2U);
  EXPECT_EQ(savings.cost, (ShiftCost{110, 60, 70, 70}));
  EXPECT_DOUBLE_EQ(*savings.perfect_percent(), 100 * (1 - 60.0 / 110));
  EXPECT_DOUBLE_EQ(*savings.forecast_percent(), 100 * (1 - 70.0 / 110));
}

TEST(Shifting, KnowsThePerfectChoiceWithoutForecasts) {
  std::vector<double> values(24, 8.0);
  values[3] = 2;
  const ShiftSavings savings = shift_savings(SupplySeries{kStart, 1h, values}, {1, 6});
  EXPECT_EQ(savings.submissions, 4U);
  EXPECT_EQ(savings.cost, (ShiftCost{32, 26, 0, 0}));
  EXPECT_FALSE(savings.forecast_percent());
  EXPECT_FALSE(savings.contiguous_percent());
}

TEST(Shifting, TakesTheMeanOfEachHourFromShorterSteps) {
  const SupplySeries quarters{kStart, 15min, {1, 2, 3, 6, 10, 10, 10, 10}};
  EXPECT_THAT(hourly(quarters, kStart, 2), ElementsAre(3, 10));
  const SupplySeries days{kStart, 24h, {5, 7}};
  EXPECT_THAT(hourly(days, kStart + 23h, 2), ElementsAre(5, 7));
  const SupplySeries odd{kStart, 40min, {3, 6, 9}};
  EXPECT_THAT(hourly(odd, kStart, 2), ElementsAre(4, 8));
}

TEST(Shifting, SavesNothingOfAFreeHour) {
  const ShiftSavings savings = shift_savings(SupplySeries{kStart, 1h, {0, 0, 0}}, {1, 2});
  EXPECT_EQ(savings.submissions, 1U);
  EXPECT_FALSE(savings.perfect_percent());
}

}  // namespace
}  // namespace weir::predict
