// SPDX-License-Identifier: Apache-2.0
#include "domain/forecast_book.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

const Time kNoon{Duration{12h}};

ForecastBook two_days() {
  return ForecastBook{{{kNoon, SupplySeries{kNoon, 1h, {1, 2}}},
                       {kNoon + 24h, SupplySeries{kNoon + 24h, 1h, {3, 4}}}}};
}

TEST(ForecastBook, KnowsTheNewestForecastIssuedByATimeAndNoneOfTheFuture) {
  const ForecastBook book = two_days();
  EXPECT_EQ(book.known_at(kNoon - 1ns), nullptr);
  ASSERT_NE(book.known_at(kNoon), nullptr);
  EXPECT_EQ(book.known_at(kNoon)->values().front(), 1);
  EXPECT_EQ(book.known_at(kNoon + 24h - 1ns)->values().front(), 1);
  EXPECT_EQ(book.known_at(kNoon + 24h)->values().front(), 3);
  EXPECT_EQ(book.known_at(kNoon + 1000h)->values().front(), 3);
}

TEST(ForecastBook, FindsAForecastByItsIssue) {
  const ForecastBook book = two_days();
  ASSERT_NE(book.issued_at(kNoon + 24h), nullptr);
  EXPECT_EQ(book.issued_at(kNoon + 24h)->values().back(), 4);
  EXPECT_EQ(book.issued_at(kNoon + 1h), nullptr);
  EXPECT_EQ(book.issued_at(kNoon + 48h), nullptr);
}

TEST(ForecastBook, ThatIsEmptyKnowsNothing) {
  EXPECT_TRUE(ForecastBook{}.empty());
  EXPECT_EQ(ForecastBook{}.known_at(kNoon), nullptr);
  EXPECT_EQ(ForecastBook{}.issued_at(kNoon), nullptr);
}

}  // namespace
}  // namespace weir
