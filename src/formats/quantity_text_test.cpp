// SPDX-License-Identifier: Apache-2.0
#include "formats/quantity_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace weir::formats {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(QuantityText, ReadsDecimalsExactly) {
  EXPECT_EQ(parse_decimal("2.5", 3), 2500);
  EXPECT_EQ(parse_decimal("0.001", 3), 1);
  EXPECT_EQ(parse_decimal("0.29", 3), 290);  // 0.29 * 1000 is 289.99... in binary
  EXPECT_EQ(parse_decimal("7.1000000", 3), 7100);
  EXPECT_EQ(parse_decimal("9223372036854775.807", 3), kLargest);
}

TEST(QuantityText, RefusesWhatItWouldHaveToRound) {
  for (const char* text :
       {"0.0005", "9223372036854775.808", "99999999999999999999", "1.00000000000000000001"}) {
    EXPECT_EQ(parse_decimal(text, 3), std::nullopt) << text;
  }
}

TEST(QuantityText, RefusesSignsSpacesExponentsAndWords) {
  for (const char* text :
       {"", ".", "1.", ".5", "-1", "+1", " 1", "1 ", "1e3", "1,5", "0x10", "inf", "nan", "1.2.3"}) {
    EXPECT_EQ(parse_decimal(text, 3), std::nullopt) << text;
  }
  EXPECT_EQ(parse_count("-1"), std::nullopt);
  EXPECT_EQ(parse_count("1.0"), std::nullopt);
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("12"), 12);
  EXPECT_EQ(parse_integer("--1"), std::nullopt);
  EXPECT_EQ(parse_integer("-"), std::nullopt);
}

TEST(QuantityText, ReadsMemoryInBinaryUnits) {
  EXPECT_EQ(parse_memory("384GiB"), Mebibytes{384 * 1024});
  EXPECT_EQ(parse_memory("1.5TiB"), Mebibytes{1536 * 1024});
  EXPECT_EQ(parse_memory("2048KiB"), Mebibytes{2});
  EXPECT_EQ(parse_memory("0MiB"), Mebibytes{0});
}

TEST(QuantityText, RefusesMemoryWithoutUnitOrBelowOneMebibyte) {
  for (const char* text :
       {"384", "384GB", "384 GiB", "1KiB", "0.5MiB", "GiB", "-1GiB", "9999999999999TiB"}) {
    EXPECT_EQ(parse_memory(text), std::nullopt) << text;
  }
}

TEST(QuantityText, WritesMemoryInTheLargestWholeUnit) {
  EXPECT_EQ(format_memory(Mebibytes{0}), "0MiB");
  EXPECT_EQ(format_memory(Mebibytes{512}), "512MiB");
  EXPECT_EQ(format_memory(Mebibytes{1536}), "1536MiB");
  EXPECT_EQ(format_memory(Mebibytes{384 * 1024}), "384GiB");
  EXPECT_EQ(format_memory(Mebibytes{1024 * 1024}), "1TiB");
}

TEST(QuantityText, ReadsDurations) {
  EXPECT_EQ(parse_duration("2h30m"), 150min);
  EXPECT_EQ(parse_duration("1d2h3m4.5s"), 26h + 3min + 4500ms);
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("90s"), 90s);
}

TEST(QuantityText, RefusesDurationsWithoutUnitOutOfOrderOrTwice) {
  for (const char* text : {"", "90", "30m2h", "1h1h", "1w", "2 h", "h", "-1s", "1h30",
                           "0.0000000001s", "300000000d"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  }
}

TEST(QuantityText, WritesDurationsWithoutZeroParts) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(150min), "2h30m");
  EXPECT_EQ(format_duration(24h + 1ns), "1d0.000000001s");
}

TEST(QuantityText, ReadsTraceSecondsWithAndWithoutDecimals) {
  EXPECT_EQ(parse_seconds("12537496"), 12537496s);
  EXPECT_EQ(parse_seconds("12537496.0"), 12537496s);
  EXPECT_EQ(format_seconds(1500ms), "1.5");
}

RC_GTEST_PROP(QuantityText, EveryQuantityComesBackEqual, ()) {
  const auto value = *rc::gen::inRange<std::int64_t>(0, kLargest);
  const auto small = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  for (const std::int64_t v : {value, small, value >> 24, kLargest}) {
    RC_ASSERT(parse_cpus(format_cpus(MilliCpu{v})) == MilliCpu{v});
    RC_ASSERT(parse_duration(format_duration(Duration{v})) == Duration{v});
    RC_ASSERT(parse_seconds(format_seconds(Duration{v})) == Duration{v});
    const Mebibytes memory{v >> 11};  // parsed in KiB, so 2^53 MiB is the most
    RC_ASSERT(parse_memory(format_memory(memory)) == memory);
  }
}

RC_GTEST_PROP(QuantityText, AnyTextIsReadOrRefusedWithoutHarm, (const std::string& text)) {
  parse_decimal(text, 18);
  parse_memory(text + "TiB");
  parse_duration(text + "d");
}

}  // namespace
}  // namespace weir::formats
