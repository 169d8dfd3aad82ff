// SPDX-License-Identifier: Apache-2.0
#include "cli/energy_options.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/run_testing.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::string hours_of(const std::string& column) {
  std::string text = "utc_time," + column + "\n";
  for (int day = 1; day <= 9; ++day) {
    for (int hour = 0; hour < 24; ++hour) {
      text += "2021-06-0" + std::to_string(day) + "T" + std::to_string(100 + hour).substr(1) +
              ":00Z," + (hour < 12 ? "100" : "300") + "\n";
    }
  }
  return text;
}

class EnergyOptions : public ::testing::Test {
 protected:
  formats::TemporaryFolder folder_;
  std::string series_ = folder_.write("grid.csv", hours_of("carbon_g_per_kwh")).string();

  Ran simulate(std::vector<std::string> more) const {
    more.insert(more.begin(), {"simulate", "--cluster", "2x8xT4", "--jobs",
                               kExamples + "/night.yaml", "--curves", kExamples + "/curves"});
    return weir(more);
  }
};

TEST_F(EnergyOptions, TellWhatEachPolicyUses) {
  const Ran ran = simulate({"--supply", series_, "--policy", "green,weir", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json told = Json::parse(ran.out);
  for (const Json& run : told.at("runs")) {
    EXPECT_GT(run["energy"]["units"].get<double>(), 0);
    EXPECT_GE(run["energy"]["site_kwh"].get<double>(), run["energy"]["jobs_kwh"].get<double>());
  }
}

TEST_F(EnergyOptions, APowerCapIsKept) {
  const Ran ran =
      simulate({"--supply", series_, "--policy", "green", "--power-cap", "4", "--json"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json run = Json::parse(ran.out)["runs"][0];
  EXPECT_LE(run["energy"]["peak_kw"].get<double>(), 4);
  EXPECT_EQ(run["missed_after_admission"], 0);
}

TEST_F(EnergyOptions, TenantsMayHaveBudgetsOfTheirOwn) {
  const std::string jobs = folder_
                               .write("jobs.yaml",
                                      "jobs:\n"
                                      "  - {name: a, model: vgg16, batch: 256, iterations: 40000, "
                                      "submit: 0s, tenant: vision}\n"
                                      "  - {name: b, model: vgg16, batch: 256, iterations: 40000, "
                                      "submit: 0s}\n")
                               .string();
  const auto play = [&](const std::string& budgets) {
    return weir({"simulate", "--cluster", "2x8xT4", "--jobs", jobs, "--curves",
                 kExamples + "/curves", "--supply", series_, "--policy", "green",
                 "--tenant-budgets", budgets, "--json"});
  };
  const Ran rich = play("vision=100,default=100");
  ASSERT_EQ(rich.exit_code, 0) << rich.err;
  const Json free = Json::parse(rich.out)["runs"][0]["energy"]["tenants"];
  ASSERT_EQ(free.size(), 2U);
  EXPECT_EQ(free[0]["name"], "default");
  EXPECT_EQ(free[0]["budget"], 100'000) << "kilograms are told in grams";
  const double most = free[1]["units"].get<double>();
  EXPECT_GT(most, 0);
  const Ran poor = play("vision=" + std::to_string(0.8 * most / 1000));
  ASSERT_EQ(poor.exit_code, 0) << poor.err;
  EXPECT_LT(Json::parse(poor.out)["runs"][0]["energy"]["tenants"][0]["units"].get<double>(),
            0.95 * most);
}

TEST_F(EnergyOptions, MistakesInBudgetsOfTenantsAreAllTold) {
  const Ran ran = simulate({"--supply", series_, "--tenant-budgets", "vision,=3,a=-1,b=x,c=1,c=2"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("\"vision\""), HasSubstr("\"=3\""), HasSubstr("\"a=-1\""),
                             HasSubstr("\"b=x\""), HasSubstr("each tenant once")));
}

TEST_F(EnergyOptions, AForecastIsWhatTheSchedulerKnows) {
  std::string text = "issue_utc_time,utc_time,carbon_g_per_kwh\n";
  for (int day = 1; day <= 8; ++day) {
    for (int hour = 0; hour < 24; ++hour)
      text += "2021-06-0" + std::to_string(day) + "T00:00Z,2021-06-0" + std::to_string(day) + "T" +
              std::to_string(100 + hour).substr(1) + ":00Z,200\n";
  }
  const std::string forecast = folder_.write("forecast.csv", text).string();
  const auto units = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--supply", series_, "--policy", "green", "--energy-price", "60", "--json"});
    const Ran ran = simulate(more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return Json::parse(ran.out)["runs"][0]["energy"]["units"].get<double>();
  };
  EXPECT_NE(units({}), units({"--forecast", forecast}))
      << "who expects every hour to be alike does not wait for a better one";
  const Ran early = simulate({"--supply", series_, "--forecast",
                              folder_
                                  .write("late.csv",
                                         "issue_utc_time,utc_time,carbon_g_per_kwh\n"
                                         "2021-06-05T00:00Z,2021-06-05T00:00Z,200\n"
                                         "2021-06-05T00:00Z,2021-06-05T01:00Z,200\n")
                                  .string()});
  EXPECT_EQ(early.exit_code, 2);
  EXPECT_THAT(early.err, HasSubstr("2021-06-05T00:00:00Z or later"));
}

TEST_F(EnergyOptions, APriceSeriesTellsMoney) {
  const std::string prices = folder_.write("prices.csv", hours_of("price_eur_per_mwh")).string();
  const Ran ran = simulate({"--supply", prices, "--policy", "green", "--energy-price", "1000"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("EUR"));
}

TEST_F(EnergyOptions, AllMistakesAreToldAtOnce) {
  const Ran ran = simulate({"--budget", "5", "--energy-price", "1", "--power-cap", "3"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--budget"), HasSubstr("--energy-price"),
                             HasSubstr("--power-cap"), HasSubstr("--supply")));
}

TEST_F(EnergyOptions, ADayThatTheSeriesDoesNotKnowIsRefused) {
  const Ran ran = simulate({"--supply", series_, "--supply-from", "2022-01-01"});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("--supply-from"), HasSubstr("2022-01-01")));
}

TEST_F(EnergyOptions, ASeriesOfCapsIsNoSupply) {
  const std::string caps = folder_.write("caps.csv", hours_of("power_cap_kw")).string();
  const Ran ran = simulate({"--supply", caps});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("--power-cap"));
}

}  // namespace
}  // namespace weir::cli
