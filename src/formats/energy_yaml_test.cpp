// SPDX-License-Identifier: Apache-2.0
#include "formats/energy_yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "formats/cluster_shorthand.h"
#include "formats/cluster_yaml.h"
#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::formats {
namespace {

using testing::HasSubstr;
using testing::Not;

class EnergyYaml : public testing::Test {
 protected:
  EnergyYaml() { std::ofstream{folder_.path() / "grid.csv"} << "utc_time,carbon_g_per_kwh\n"; }

  Result<EnergyFile> read(std::string_view text,
                          const Cluster& cluster = *parse_cluster_shorthand("4x8xA100")) const {
    return read_energy_yaml(*InputFile::from_memory("energy.yaml", text), cluster, folder_.path());
  }
  std::string mistakes(std::string_view text) const { return mistakes_of(read(text)); }

  TemporaryFolder folder_;
};

TEST_F(EnergyYaml, WhatIsLeftOutIsAssumedAndTold) {
  const auto file = read("supply: grid.csv\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_EQ(file->supply.file, folder_.path() / "grid.csv");
  EXPECT_EQ(file->supply.url, "");
  ASSERT_EQ(file->terms.pools.size(), 1U);
  EXPECT_EQ(file->terms.pools[0], (PoolPower{PoolIndex{0}, 55'000, 800'000, 0, 1000}));
  EXPECT_EQ(file->gpus[0], GpuPowerConstants{});
  ASSERT_EQ(file->assumed.size(), 1U);
  EXPECT_THAT(file->assumed[0],
              HasSubstr("gpu_watts 400, static_share 0.35, waiting_share 0.3, clock_bound_share "
                        "0.4, idle_gpu_watts 55, node_watts 800, asleep_node_watts 0"));
  EXPECT_FALSE(file->terms.budget_micros || file->terms.price_nanos || file->terms.cap_milliwatts);
  EXPECT_TRUE(is_well_formed(file->terms));
}

TEST_F(EnergyYaml, ReadsAll) {
  const auto file = read(
      "supply: {url: 'https://grid.example:8443/carbon.csv?zone=de', every: 5m, file: grid.csv}\n"
      "pue: 1.25\n"
      "power: {gpu_watts: 700, static_share: 0.2, waiting_share: 0.5, clock_bound_share: 0.6,\n"
      "        idle_gpu_watts: 80.5, node_watts: 1200, asleep_node_watts: 15}\n"
      "budget:\n"
      "  kg_co2: 40.5\n"
      "  from: 2026-11-16T00:00:00Z\n"
      "  until: 2026-11-23T01:00:00+01:00\n"
      "  when_spent: min-power\n"
      "power_cap: 12.5\n"
      "clocks: false\n"
      "longest_pause: 6h\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  EXPECT_EQ(file->supply.url, "https://grid.example:8443/carbon.csv?zone=de");
  EXPECT_EQ(file->supply.every, std::chrono::minutes{5});
  EXPECT_EQ(file->supply.file, folder_.path() / "grid.csv");
  EXPECT_EQ(file->terms.pools[0], (PoolPower{PoolIndex{0}, 80'500, 1'200'000, 15'000, 1250}));
  EXPECT_EQ(file->gpus[0], (GpuPowerConstants{700, 0.2, 0.5, 0.6}));
  EXPECT_TRUE(file->assumed.empty());
  EXPECT_EQ(file->terms.budget_micros, 40'500'000'000) << "grams, in millionths";
  EXPECT_EQ(file->budget_is_carbon, true);
  EXPECT_EQ(format_time(file->terms.until), "2026-11-23T00:00:00Z");
  EXPECT_EQ(file->terms.when_spent, WhenSpent::min_power);
  EXPECT_EQ(file->terms.cap_milliwatts, 12'500'000);
  EXPECT_EQ(file->terms.longest_pause, std::chrono::hours{6});
  EXPECT_FALSE(file->has_clocks);
}

TEST_F(EnergyYaml, APoolsOwnConstantsComeBeforeThoseOfAll) {
  const Cluster cluster = *read_cluster_yaml(*InputFile::from_memory(
      "lab.yaml",
      "nodes:\n"
      "  - {name: login, cpus: 1, memory: 1GiB}\n"
      "  - {name: a, cpus: 1, memory: 1GiB, gpus: 8, model: A100, pool: a}\n"
      "  - {name: t, cpus: 1, memory: 1GiB, gpus: 4, model: Tesla-T4, pool: t}\n"));
  const auto file = read(
      "supply: grid.csv\npower: {node_watts: 500}\npools: {a: {node_watts: 900, gpu_watts: 300}}\n",
      cluster);
  ASSERT_TRUE(file) << mistakes_of(file);
  ASSERT_EQ(file->terms.pools.size(), 2U) << "of pools with GPUs";
  EXPECT_EQ(file->terms.pools[0].node_milliwatts, 900'000);
  EXPECT_EQ(file->gpus[0].full_watts, 300);
  EXPECT_EQ(file->terms.pools[1].node_milliwatts, 500'000);
  EXPECT_EQ(file->gpus[1].full_watts, 70) << "what is known of its model";
  EXPECT_EQ(file->terms.pools[1].idle_milliwatts, 10'000);
  EXPECT_THAT(file->assumed[1], HasSubstr("pool t: gpu_watts 70"));
  EXPECT_THAT(file->assumed[0], Not(HasSubstr("gpu_watts 4")));
}

TEST_F(EnergyYaml, AllMistakesAtOnce) {
  const std::string told = mistakes(
      "supply: nowhere.csv\n"
      "pue: 0.5\n"
      "power: {gpu_watts: -1, idle: 3}\n"
      "pools: {v100: {}}\n"
      "budget: {kg_co2: 1, money: 2, from: monday, until: 2026-01-01T00:00:00Z, when_spent: stop}\n"
      "price: 3\n"
      "power_cap: 0\n"
      "clocks: 0.5\n"
      "longest_pause: 0s\n");
  for (const char* mistake :
       {"energy.yaml:1: supply", "energy.yaml:2: pue", "energy.yaml:3: gpu_watts",
        "energy.yaml:3: ", "energy.yaml:4: pools", "energy.yaml:5: money", "energy.yaml:5: from",
        "energy.yaml:5: when_spent", "energy.yaml:6: price", "energy.yaml:7: power_cap",
        "energy.yaml:8: clocks", "energy.yaml:9: longest_pause"})
    EXPECT_THAT(told, HasSubstr(mistake));
}

TEST_F(EnergyYaml, TenantsMayHaveBudgetsOfTheirOwn) {
  const std::string time = "from: 2026-01-01T00:00:00Z, until: 2026-01-02T00:00:00Z";
  const auto beside =
      read("supply: grid.csv\nbudget: {kg_co2: 4, tenants: {vision: 1.5, a: 2}, " + time + "}\n");
  ASSERT_TRUE(beside) << mistakes_of(beside);
  EXPECT_EQ(beside->terms.budget_micros, 4'000'000'000);
  EXPECT_EQ(beside->terms.tenants,
            (std::vector<TenantBudget>{{"a", 2'000'000'000}, {"vision", 1'500'000'000}}));
  EXPECT_TRUE(is_well_formed(beside->terms));
  const auto alone =
      read("supply: grid.csv\nbudget: {money: none, tenants: {vision: 2.5}, " + time + "}\n");
  ASSERT_TRUE(alone) << mistakes_of(alone);
  EXPECT_FALSE(alone->terms.budget_micros);
  EXPECT_EQ(alone->terms.tenants, (std::vector<TenantBudget>{{"vision", 2'500'000}}));
  EXPECT_EQ(alone->budget_is_carbon, false);
}

TEST_F(EnergyYaml, MistakesInBudgetsOfTenantsAreNamed) {
  const auto told = [&](const std::string& budget) {
    return mistakes(
        "supply: grid.csv\nbudget: {from: 2026-01-01T00:00:00Z, until: "
        "2026-01-02T00:00:00Z, " +
        budget + "}\n");
  };
  EXPECT_THAT(told("kg_co2: none"), HasSubstr("energy.yaml:2: kg_co2"));
  EXPECT_THAT(told("kg_co2: 1, tenants: {}"), HasSubstr("{vision: 12, speech: 8}"));
  EXPECT_THAT(told("kg_co2: 1, tenants: [vision]"), HasSubstr("{vision: 12, speech: 8}"));
  EXPECT_THAT(told("kg_co2: 1, tenants: {vision: lots, b: -1}"),
              testing::AllOf(HasSubstr("vision"), HasSubstr("\"lots\""), HasSubstr("-1")));
  EXPECT_THAT(told("kg_co2: 1, tenants: {vision: 1, vision: 2}"), HasSubstr("vision"));
}

TEST_F(EnergyYaml, ABudgetHasATimeThatIsNotOverBeforeItBegins) {
  EXPECT_THAT(mistakes("supply: grid.csv\nbudget: {kg_co2: 1}\n"),
              testing::AllOf(HasSubstr("from"), HasSubstr("until")));
  EXPECT_THAT(mistakes("supply: grid.csv\nbudget: {money: 1, from: 2026-01-02T00:00:00Z, until: "
                       "2026-01-02T00:00:00Z}\n"),
              HasSubstr("a time after `from`"));
}

TEST_F(EnergyYaml, NobodyAsksAlone) {
  EXPECT_TRUE(read("supply: none\n")->is_off);
  EXPECT_THAT(mistakes("supply: none\npue: 2\n"), HasSubstr("energy.yaml:2: pue"));
  EXPECT_THAT(mistakes("pue: 2\n"), HasSubstr("supply"));
}

TEST_F(EnergyYaml, FeedsAreOfTheWeb) {
  for (const char* url : {"ftp://grid/x", "http://", "http:///x", "grid.csv", "'http://a b'"})
    EXPECT_THAT(mistakes(std::string{"supply: {url: "} + url + "}\n"), HasSubstr("url")) << url;
  EXPECT_THAT(mistakes("supply: {every: 15m}\n"), HasSubstr("url"));
  EXPECT_THAT(mistakes("supply: {url: 'http://a', every: 0s}\n"), HasSubstr("every"));
}

TEST_F(EnergyYaml, ABudgetOfGramsNeedsASupplyOfGrams) {
  const auto file = read(
      "supply: grid.csv\nbudget: {money: 1, from: 2026-01-01T00:00:00Z, until: "
      "2026-01-02T00:00:00Z}\n");
  ASSERT_TRUE(file) << mistakes_of(file);
  const auto mistake = budget_mismatch(*file, {}, "energy.yaml");
  ASSERT_TRUE(mistake);
  EXPECT_EQ(mistake->line, 2U);
  EXPECT_FALSE(budget_mismatch(*file, {SupplyQuantity::price, "EUR"}, "energy.yaml"));
}

}  // namespace
}  // namespace weir::formats
