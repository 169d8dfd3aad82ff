// SPDX-License-Identifier: Apache-2.0
#include "formats/time_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::formats {
namespace {

using namespace std::chrono_literals;

TEST(TimeText, ReadsTimesWithTheirOffset) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00Z"), Time{});
  EXPECT_EQ(parse_time("2026-11-15T09:00:00Z"), Time{1'794'733'200s});
  EXPECT_EQ(parse_time("2026-11-15T10:30:00+01:30"), Time{1'794'733'200s});
  EXPECT_EQ(parse_time("2026-11-14t23:00:00-10:00"), Time{1'794'733'200s});
  EXPECT_EQ(parse_time("1969-12-31T23:59:59.999999999z"), Time{-1ns});
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.05Z"), Time{50ms});
}

TEST(TimeText, KnowsLeapYears) {
  for (const char* text : {"2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z"}) {
    EXPECT_TRUE(parse_time(text)) << text;
  }
  for (const char* text :
       {"2023-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "1900-02-29T00:00:00Z"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
  EXPECT_EQ(*parse_time("2024-03-01T00:00:00Z") - *parse_time("2024-02-28T00:00:00Z"), 48h);
  EXPECT_EQ(*parse_time("2100-03-01T00:00:00Z") - *parse_time("2100-02-28T00:00:00Z"), 24h);
}

TEST(TimeText, RefusesWhatIsNoTime) {
  for (const char* text : {"",
                           "2026-11-15",
                           "2026-11-15T09:00:00",
                           "2026-11-15 09:00:00Z",
                           "2026-11-15T09:00Z",
                           "2026-13-15T09:00:00Z",
                           "2026-00-15T09:00:00Z",
                           "2026-11-00T09:00:00Z",
                           "2026-11-31T09:00:00Z",
                           "2026-11-15T24:00:00Z",
                           "2026-11-15T09:60:00Z",
                           "2026-11-15T23:59:60Z",
                           "2026-11-15T09:00:00.Z",
                           "2026-11-15T09:00:00.0000000001Z",
                           "2026-11-15T09:00:00+0100",
                           "2026-11-15T09:00:00+24:00",
                           "2026-11-15T09:00:00+01:60",
                           "2026-11-15T09:00:00Z ",
                           " 2026-11-15T09:00:00Z",
                           "26-11-15T09:00:00Z",
                           "-026-11-15T09:00:00Z",
                           "2026-1a-15T09:00:00Z",
                           "2026-11-15T09:00:00ZZ",
                           "6h"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(TimeText, ReachesAsFarAsNanosecondsDo) {
  EXPECT_EQ(parse_time("1677-09-21T00:12:43.145224192Z"), Time::min());
  EXPECT_EQ(parse_time("1677-09-21T00:12:43.145224191Z"), std::nullopt);
  EXPECT_EQ(parse_time("2262-04-11T23:47:16.854775807Z"), Time::max());
  EXPECT_EQ(parse_time("2262-04-11T23:47:16.854775808Z"), std::nullopt);
  EXPECT_EQ(parse_time("9999-12-31T23:59:59Z"), std::nullopt);
  EXPECT_EQ(parse_time("0000-01-01T00:00:00Z"), std::nullopt);
}

TEST(TimeText, WritesUtcAsShortAsItIsExact) {
  EXPECT_EQ(format_time(Time{1'794'733'200s}), "2026-11-15T09:00:00Z");
  EXPECT_EQ(format_time(Time{50ms}), "1970-01-01T00:00:00.05Z");
  EXPECT_EQ(format_time(Time{-1ns}), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(format_time(Time::min()), "1677-09-21T00:12:43.145224192Z");
}

RC_GTEST_PROP(TimeText, ComesBackAsWritten, ()) {
  const auto unit = *rc::gen::element<std::int64_t>(1, 50'000'000, 1'000'000'000);
  const auto reach = Duration::max().count() / unit;
  const Time time{Duration{*rc::gen::inRange(-reach, reach) * unit}};
  RC_ASSERT(parse_time(format_time(time)) == time);
}

}  // namespace
}  // namespace weir::formats
