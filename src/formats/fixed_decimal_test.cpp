// SPDX-License-Identifier: Apache-2.0
#include "formats/fixed_decimal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace weir::formats {
namespace {

TEST(FixedDecimal, RoundsHalfToEven) {
  EXPECT_EQ(fixed_decimal(1, 8, 2), "0.12");  // 0.125
  EXPECT_EQ(fixed_decimal(3, 8, 2), "0.38");  // 0.375
  EXPECT_EQ(fixed_decimal(5, 2, 0), "2");
  EXPECT_EQ(fixed_decimal(7, 2, 0), "4");
  EXPECT_EQ(fixed_decimal(2, 3, 3), "0.667");
  EXPECT_EQ(fixed_decimal(1001, 8000, 2), "0.13");  // just above a half
}

TEST(FixedDecimal, CarriesThroughNines) {
  EXPECT_EQ(fixed_decimal(9999, 1000, 2), "10.00");
  EXPECT_EQ(fixed_decimal(-9999, 1000, 1), "-10.0");
}

TEST(FixedDecimal, HasNoNegativeZero) {
  EXPECT_EQ(fixed_decimal(-1, 1000, 2), "0.00");
  EXPECT_EQ(fixed_decimal(0, 7, 0), "0");
}

TEST(FixedDecimal, GivesPercentOfCapacity) {
  // 3 samples of 6,212,000 milli-GPU in all, 5,900,000 in use on average: 94.977...
  EXPECT_EQ(fixed_percent(17'700'000, 3, 6'212'000, 2), "94.98");
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(fixed_percent(kLargest, 1, kLargest, 3), "100.000");
  EXPECT_EQ(fixed_percent(kLargest, 1'000'000'000, 9'223'372'036, 6), "100.000000");
}

RC_GTEST_PROP(FixedDecimal, IsTheNearestDecimal, ()) {
  const auto numerator = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  const auto denominator = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
  std::string text = fixed_decimal(numerator, denominator, 3);
  text.erase(text.find('.'), 1);
  const Int128 thousandths = std::stoll(text);
  const Int128 error = thousandths * denominator - Int128{numerator} * 1000;
  const Int128 twice = 2 * (error < 0 ? -error : error);
  RC_ASSERT(twice <= denominator);
  RC_ASSERT(twice < denominator || thousandths % 2 == 0);
}

}  // namespace
}  // namespace weir::formats
