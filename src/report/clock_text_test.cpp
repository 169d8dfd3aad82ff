// SPDX-License-Identifier: Apache-2.0
#include "report/clock_text.h"

#include <gtest/gtest.h>

namespace weir::report {
namespace {

using namespace std::chrono_literals;

TEST(ClockText, ATraceCountsFromItsStartAndDatesAreDates) {
  EXPECT_EQ(clock_text(Time{}), "0s");
  EXPECT_EQ(clock_text(Time{26h + 30min}), "1d2h30m");
  EXPECT_EQ(clock_text(Time{90s + 600ms}), "1m31s");
  EXPECT_EQ(clock_text(Time{1'794'733'200s}), "2026-11-15T09:00:00Z");
}

TEST(ClockText, LengthsAreRoundedToWhatPeopleRead) {
  EXPECT_EQ(length_text(40s), "40s");
  EXPECT_EQ(length_text(-40s), "40s");
  EXPECT_EQ(length_text(2h + 5min + 29s), "2h5m");
  EXPECT_EQ(length_text(50h + 31min), "2d3h");
  EXPECT_EQ(length_text(Duration{0}), "0s");
}

}  // namespace
}  // namespace weir::report
