// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "formats/carbon_regions.h"
#include "formats/data_dir_testing.h"
#include "formats/supply_csv.h"
#include "formats/temporary_file_testing.h"
#include "formats/time_text.h"

namespace weir::formats {
namespace {

TEST(SupplyCsvData, HasEveryHourOfTwoYearsOfElevenRegions) {
  WEIR_NEEDS_DATA(data);
  const auto regions = carbon_regions_in(data / "carbon" / "intensity", "--region");
  ASSERT_TRUE(regions) << mistakes_of(regions);
  EXPECT_EQ(regions->size(), 11U);
  for (const CarbonRegion& region : *regions) {
    for (const CarbonFactors factors : {CarbonFactors::lifecycle, CarbonFactors::direct}) {
      const auto file = read_supply(region.series, factors);
      ASSERT_TRUE(file) << mistakes_of(file);
      EXPECT_EQ(file->series.values().size(), 17'544U);
      EXPECT_EQ(format_time(file->series.begin()), "2020-01-01T00:00:00Z");
      EXPECT_EQ(file->series.step(), std::chrono::hours{1});
      EXPECT_EQ(file->repairs, SupplyRepairs{});
    }
  }
}

TEST(SupplyCsvData, HasAForecastOf96HoursForEachOf181DaysOfSixRegions) {
  WEIR_NEEDS_DATA(data);
  const auto regions = carbon_regions_in(data / "carbon" / "intensity", "--region");
  ASSERT_TRUE(regions) << mistakes_of(regions);
  int with_forecasts = 0;
  for (const CarbonRegion& region : *regions) {
    if (!region.forecast) continue;
    ++with_forecasts;
    const auto file = read_forecast(*region.forecast);
    ASSERT_TRUE(file) << mistakes_of(file);
    ASSERT_EQ(file->book.all().size(), 181U);
    EXPECT_EQ(format_time(file->book.all().front().issued), "2021-07-01T00:00:00Z");
    Time issued = file->book.all().front().issued;
    for (const SupplyForecast& forecast : file->book.all()) {
      EXPECT_EQ(forecast.issued, std::exchange(issued, issued + std::chrono::hours{24}));
      EXPECT_EQ(forecast.expected.begin(), forecast.issued);
      EXPECT_EQ(forecast.expected.values().size(), 96U);
    }
    // In the public files the forecast of 5 December has the times of the one before.
    SupplyRepairs known;
    known.redated = 1;
    known.first_redated = parse_time("2021-12-05T00:00:00Z");
    EXPECT_EQ(file->repairs, known);
  }
  EXPECT_EQ(with_forecasts, 6);
}

}  // namespace
}  // namespace weir::formats
