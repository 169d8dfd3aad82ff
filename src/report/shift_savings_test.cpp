// SPDX-License-Identifier: Apache-2.0
#include "report/shift_savings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/text_table.h"

namespace weir::report {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Time kStart{Duration{0}};

std::vector<SeriesSavings> two_series() {
  predict::ShiftSavings savings{{1, 2}, 4, true, {200, 150, 180, 240}, kStart, kStart + 18h};
  predict::ShiftSavings none{{12, 48}, 0, true, {}, {}, {}};
  SeriesSavings ciso{"ciso", {}, {savings, none}, {"one gap"}};
  savings.has_forecast = false;
  SeriesSavings pl{"pl", {}, {savings, none}, {"one gap", "two gaps"}};
  return {ciso, pl};
}

TEST(ShiftSavings, StandInOneTable) {
  EXPECT_EQ(to_text(savings_table(two_series())),
            "Saved by choosing hours, % of running at once: perfect / forecast / contiguous\n"
            "      submitted                          1 h in 2 h  12 h in 48 h\n"
            "----  ------------------------  -------------------  ------------\n"
            "ciso  1970-01-01 to 1970-01-01  25.0 / 10.0 / -20.0     - / - / -\n"
            "pl    1970-01-01 to 1970-01-01         25.0 / - / -     - / - / -\n");
}

TEST(ShiftSavings, AreJsonForPrograms) {
  const auto text = savings_json(two_series());
  ASSERT_TRUE(text);
  const auto json = nlohmann::json::parse(*text);
  ASSERT_EQ(json["runs"].size(), 4U);
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["name"], "ciso");
  EXPECT_EQ(run["quantity"], "carbon_lifecycle");
  EXPECT_EQ(run["unit"], "g/kWh");
  EXPECT_EQ(run["submissions"], 4);
  EXPECT_EQ(run["last_submission"], "1970-01-01T18:00:00Z");
  EXPECT_EQ(run["at_once_mean"], 50.0);
  EXPECT_EQ(run["perfect_percent"], 25.0);
  EXPECT_TRUE(json["runs"][1]["perfect_percent"].is_null());
  EXPECT_TRUE(json["runs"][1]["first_submission"].is_null());
  EXPECT_TRUE(json["runs"][2]["forecast_percent"].is_null());
  EXPECT_THAT(json["basis"].get<std::string>(), HasSubstr("not marginal"));
  EXPECT_THAT(json["notes"], ElementsAre("ciso, pl: one gap", "pl: two gaps"));
}

TEST(ShiftSavings, SayWhatTheirBasisIs) {
  EXPECT_THAT(savings_basis({SupplyQuantity::carbon_direct, ""}), HasSubstr("direct factors"));
  EXPECT_THAT(savings_basis({}), HasSubstr("average intensity of the grid, lifecycle factors"));
  EXPECT_EQ(savings_basis({SupplyQuantity::price, "EUR"}), "price in EUR/kWh, as the file has it");
}

TEST(ShiftSavings, HaveAPageWithABarForWhatWasSaved) {
  const std::string page = savings_report({"weir carbon savings", "1", {}}, two_series());
  EXPECT_THAT(page, HasSubstr("<title>forecast, ciso: 10.0</title>"));
  EXPECT_THAT(page, Not(HasSubstr("<title>contiguous, ciso")));  // it cost more
  EXPECT_THAT(page, HasSubstr("-20.0"));
  EXPECT_THAT(page, HasSubstr("not marginal"));
  EXPECT_THAT(page, HasSubstr("pl: two gaps."));
  EXPECT_THAT(page, HasSubstr("weir-data"));
}

}  // namespace
}  // namespace weir::report
