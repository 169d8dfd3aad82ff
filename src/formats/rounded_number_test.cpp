// SPDX-License-Identifier: Apache-2.0
#include "formats/rounded_number.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::formats {
namespace {

TEST(RoundedNumber, KeepsSixDigitsOfAnySize) {
  EXPECT_EQ(six_digits(0), 0);
  EXPECT_EQ(six_digits(0.0000123456789), 0.0000123457);
  EXPECT_EQ(six_digits(12.3456789), 12.3457);
  EXPECT_EQ(six_digits(-0.00100000049), -0.001);
  EXPECT_EQ(six_digits(987'654'321), 987'654'000);
  EXPECT_EQ(six_digits(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace weir::formats
