// SPDX-License-Identifier: Apache-2.0
#include "formats/supply_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::formats {
namespace {

using testing::HasSubstr;

double converted(std::string_view name, double value) {
  const auto column = parse_supply_column(name);
  return column ? value * column->times / column->over : -1;
}

TEST(SupplyColumn, SaysTheQuantityAndTheUnit) {
  EXPECT_EQ(to_string(parse_supply_column("carbon_g_per_kwh")->kind),
            "carbon in g/kWh, lifecycle factors");
  EXPECT_EQ(to_string(parse_supply_column("carbon_direct_kg_per_mwh")->kind),
            "carbon in g/kWh, direct factors");
  EXPECT_EQ(to_string(parse_supply_column("price_eur_per_mwh")->kind), "price in EUR/kWh");
  EXPECT_EQ(to_string(parse_supply_column("power_cap_kw")->kind), "power cap in W");
  EXPECT_EQ(parse_supply_column("ci_direct"), parse_supply_column("carbon_direct_g_per_kwh"));
  EXPECT_EQ(parse_supply_column("ci_lifecycle"), parse_supply_column("carbon_g_per_kwh"));
  EXPECT_EQ(parse_supply_column("carbon_lifecycle_g_per_kwh"),
            parse_supply_column("carbon_g_per_kwh"));
}

TEST(SupplyColumn, ConvertsToGramsMoneyPerKilowattHourAndWatts) {
  EXPECT_EQ(converted("carbon_g_per_kwh", 300), 300);
  EXPECT_EQ(converted("carbon_kg_per_mwh", 300), 300);
  EXPECT_EQ(converted("carbon_kg_per_kwh", 0.25), 250);
  EXPECT_EQ(converted("carbon_g_per_mwh", 300'000), 300);
  EXPECT_EQ(converted("price_usd_per_kwh", 0.25), 0.25);
  EXPECT_EQ(converted("price_usd_per_mwh", 87), 0.087);
  EXPECT_EQ(converted("power_cap_w", 500), 500);
  EXPECT_EQ(converted("power_cap_kw", 40), 40'000);
  EXPECT_EQ(converted("power_cap_mw", 1.5), 1'500'000);
}

TEST(SupplyColumn, WithoutAUnitOrWithAnUnknownOneIsRefusedWithWhatToWrite) {
  for (const char* name :
       {"carbon", "carbon_g", "carbon_t_per_kwh", "carbon_g_per_kwh_", "carbon_g_per_gwh", "price",
        "price_per_kwh", "price_euro_per_kwh", "price_EUR_per_kwh", "power", "power_cap",
        "power_cap_hp", "power_cap_kwh"}) {
    EXPECT_FALSE(parse_supply_column(name)) << name;
    EXPECT_TRUE(resembles_supply_column(name)) << name;
  }
  EXPECT_THAT(instead_of_supply_column("price"), HasSubstr("price_eur_per_kwh"));
  EXPECT_THAT(instead_of_supply_column("power_cap"), HasSubstr("power_cap_w"));
  EXPECT_THAT(instead_of_supply_column("carbon"), HasSubstr("carbon_g_per_kwh"));
}

TEST(SupplyColumn, LeavesOtherNamesAlone) {
  for (const char* name : {"", "zone", "ci", "ci_direct2", "actual", "forecast"}) {
    EXPECT_FALSE(parse_supply_column(name)) << name;
    EXPECT_FALSE(resembles_supply_column(name)) << name;
  }
}

}  // namespace
}  // namespace weir::formats
