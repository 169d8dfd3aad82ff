// SPDX-License-Identifier: Apache-2.0
#include "report/power_book_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::report {
namespace {

PowerBook a_book() {
  PowerBook book{"A100", 55'000, 800'000, 0, 1000, {}};
  book.tables[{"net", 64}] = {{1, 800, IterationRate{4'000'000}, 240'000},
                              {1, 1000, IterationRate{5'000'000}, 400'000},
                              {2, 1000, IterationRate{8'000'000}, 760'000}};
  return book;
}

TEST(PowerBookTables, CompareEachClockWithTheFullOne) {
  const auto tables = power_book_tables(a_book());
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].title, "net, batch 64");
  using testing::ElementsAre;
  // 240 W / 4 = 60 J against 400 W / 5 = 80 J: 25 % slower, a quarter saved.
  EXPECT_THAT(
      tables[0].rows,
      ElementsAre(ElementsAre("1", "80.0", "4.000", "240.0", "60.00", "25.0", "25.0", "x*"),
                  ElementsAre("1", "100.0", "5.000", "400.0", "80.00", "0.0", "0.0", ""),
                  ElementsAre("2", "100.0", "8.000", "760.0", "95.00", "0.0", "0.0", "x*")));
}

TEST(PowerBookTables, JsonHasTheSameFigures) {
  const auto text = power_book_json(a_book());
  ASSERT_TRUE(text);
  const auto json = nlohmann::json::parse(*text);
  EXPECT_EQ(json.at("idle_watts"), 55);
  EXPECT_EQ(json.at("overhead"), 1);
  const auto& option = json.at("tables").at(0).at("options").at(0);
  EXPECT_EQ(option.at("joules_per_iteration"), 60);
  EXPECT_EQ(option.at("is_least_energy"), true);
}

TEST(PowerBookTables, TheLegendSaysWhatIsAssumed) {
  EXPECT_THAT(power_book_legend(a_book()),
              testing::AllOf(testing::HasSubstr("an idle GPU 55 W, a node awake 800 W, asleep 0 W"),
                             testing::HasSubstr("assumed")));
}

}  // namespace
}  // namespace weir::report
