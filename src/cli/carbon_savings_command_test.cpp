// SPDX-License-Identifier: Apache-2.0
#include "cli/carbon_savings_command.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// Four hours of each day are cheap, the third to the sixth.
std::string days_of(const std::string& header, const std::string& before_time, int days) {
  std::string text = header + "\n";
  for (int day = 1; day <= days; ++day) {
    for (int hour = 0; hour < 24; ++hour) {
      const std::string digits = std::to_string(100 + hour).substr(1);
      text += before_time + "2021-06-" + std::to_string(100 + day).substr(1) + "T" + digits +
              ":00Z," + (hour >= 2 && hour < 6 ? "100" : "200") + "\n";
    }
  }
  return text;
}

class CarbonSavings : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::string series_ =
      folder_.write("grid.csv", days_of("utc_time,carbon_g_per_kwh", "", 4)).string();
  std::string forecast_ = folder_
                              .write("will.csv", days_of("issue_utc_time,utc_time,carbon_g_per_kwh",
                                                         "2021-06-01T00:00Z,", 2))
                              .string();

  static Ran savings(std::vector<std::string> more) {
    more.insert(more.begin(), {"carbon", "savings"});
    return weir(more);
  }
};

TEST_F(CarbonSavings, OfAFileWithoutForecastsAreThoseOfPerfectKnowledge) {
  const Ran ran = savings({"--file", series_, "--hours", "4", "--within", "24", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json run = Json::parse(ran.out)["runs"][0];
  EXPECT_EQ(run["name"], "grid");
  EXPECT_EQ(run["submissions"], 13);  // from 0:00 of the first day to 0:00 of the fourth
  // At 0:00, four times, two of the four hours are cheap at once; at 6:00, 12:00, 18:00 none.
  EXPECT_DOUBLE_EQ(run["perfect_percent"].get<double>(),
                   100 * (1 - 13 * 400.0 / (4 * 600.0 + 9 * 800.0)));
  EXPECT_TRUE(run["forecast_percent"].is_null());
}

TEST_F(CarbonSavings, OfAFileWithForecastsShowAllThreeWays) {
  const Ran ran = savings({"--file", series_, "--forecast", forecast_});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("6 h in 24 h"), HasSubstr("24 h in 72 h"),
                             HasSubstr("- / - / -"),  // forecasts of 48 hours
                             HasSubstr("lifecycle factors, not marginal")));
  EXPECT_THAT(ran.out, HasSubstr("weir carbon savings --file " + series_));
}

TEST_F(CarbonSavings, AreForMoneyToo) {
  const std::string prices =
      folder_.write("price.csv", days_of("utc_time,price_eur_per_mwh", "", 3)).string();
  const Ran ran = savings({"--file", prices, "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["runs"][0]["unit"], "EUR/kWh");
}

TEST_F(CarbonSavings, TellWhatWasFilled) {
  std::string text = content_of(series_);
  text.erase(text.find("2021-06-02T10"), text.find("2021-06-02T12") - text.find("2021-06-02T10"));
  const Ran ran = savings({"--file", folder_.write("gap.csv", text).string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("gap: 2 missing steps got the value before, the first at "
                                 "2021-06-02T10:00:00Z"));
}

TEST_F(CarbonSavings, MakeAPage) {
  const auto page = folder_.path() / "page.html";
  const Ran ran = savings({"--file", series_, "--report", page.string()});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(content_of(page), HasSubstr("What does waiting for cleaner hours save?"));
}

TEST_F(CarbonSavings, RefuseOptionsThatMakeNoSenseTogether) {
  const Ran ran = savings({"--file", series_, "--region", "ciso", "--hours", "30", "--within", "24",
                           "--report", series_});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--region"), HasSubstr("--within is \"24\", expected 30"),
                             HasSubstr("--report")));
  EXPECT_THAT(savings({"--forecast", forecast_, "--hours", "3"}).err,
              AllOf(HasSubstr("--forecast is"), HasSubstr("both --hours and --within")));
}

TEST_F(CarbonSavings, RefuseAForecastOfSomethingElse) {
  const std::string price =
      folder_
          .write("price.csv",
                 days_of("issue_utc_time,utc_time,price_eur_per_kwh", "2021-06-01T00:00Z,", 2))
          .string();
  const Ran ran = savings({"--file", series_, "--forecast", price});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("price.csv:1: unit is \"price in EUR/kWh\", expected carbon"));
}

TEST_F(CarbonSavings, RefuseWindowsBeyondTheForecast) {
  const Ran ran =
      savings({"--file", series_, "--forecast", forecast_, "--hours", "6", "--within", "49"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--within is \"49\", expected a window that lies within what is "
                                 "known of grid: 48 hours at most"));
}

TEST_F(CarbonSavings, RefusePowerCapsAndAllMistakesOfBothFilesAtOnce) {
  const std::string cap =
      folder_.write("cap.csv", days_of("utc_time,power_cap_kw", "", 2)).string();
  EXPECT_THAT(savings({"--file", cap}).err, HasSubstr("expected carbon or a price"));
  const std::string wrong =
      folder_.write("wrong.csv", "utc_time,carbon\n2021-06-01T00:00Z,1\n").string();
  const Ran ran = savings({"--file", wrong, "--forecast", wrong});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("column is \"carbon\""), HasSubstr("column issue_utc_time is")));
}

}  // namespace
}  // namespace weir::cli
