// SPDX-License-Identifier: Apache-2.0
#include "formats/rate_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "formats/input_ranges.h"
#include "formats/quantity_text.h"

namespace weir::formats {
namespace {

std::optional<std::int64_t> micro(std::string_view text) {
  const auto parsed = parse_rate(text);
  if (!parsed) return std::nullopt;
  return parsed->rate.value;
}

TEST(RateText, IsRoundedDownFromTheDigits) {
  EXPECT_EQ(micro("6.030661553957379"), 6'030'661);
  EXPECT_EQ(micro("0.000029"), 29);  // 0.000029 * 1e6 is 28.99... in binary
  EXPECT_EQ(micro("0.9999999999999999999999"), 999'999);
  EXPECT_EQ(micro("007"), 7'000'000);
  EXPECT_EQ(micro("4.7e-02"), 47'000);
  EXPECT_EQ(micro("1.5E+3"), 1'500'000'000);
  EXPECT_EQ(micro("12e-7"), 1);
}

TEST(RateText, KnowsZeroFromTooSmall) {
  EXPECT_EQ(parse_rate("0"), (RateText{IterationRate{0}, true}));
  EXPECT_EQ(parse_rate("0.000e9"), (RateText{IterationRate{0}, true}));
  EXPECT_EQ(parse_rate("0.0000009"), (RateText{IterationRate{0}, false}));
  EXPECT_EQ(parse_rate("5e-300"), (RateText{IterationRate{0}, false}));
}

TEST(RateText, RefusesSignsWordsAndTheUnbelievable) {
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "inf", "nan", ".5", "5.", "1.2.3", "1e",
                           "e5", "1e+-5", "1e5.0", "0x1", "1,5", "1e13", "1e99999999999"}) {
    EXPECT_EQ(parse_rate(text), std::nullopt) << text;
  }
}

TEST(RateText, IsUsableWithinTheLimits) {
  EXPECT_TRUE(parse_usable_rate("1000000"));
  EXPECT_TRUE(parse_usable_rate("0"));
  EXPECT_TRUE(parse_usable_rate("0.000001"));
  EXPECT_FALSE(parse_usable_rate("1000000.000001"));
  EXPECT_FALSE(parse_usable_rate("0.0000009"));
}

RC_GTEST_PROP(RateText, ReadsExactDecimalsExactly, ()) {
  const auto value = *rc::gen::inRange<std::int64_t>(1, kMostRate.value + 1);
  const std::string tail = *rc::gen::element<std::string>("", "0", "4", "999999999999999999999");
  std::string text = format_decimal(value, 6);
  const std::size_t point = text.find('.');
  if (point == std::string::npos) text += '.';
  text.append(6 - (text.size() - 1 - text.find('.')), '0');
  RC_ASSERT(micro(text + tail) == value);
}

}  // namespace
}  // namespace weir::formats
