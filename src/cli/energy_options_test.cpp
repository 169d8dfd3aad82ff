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
