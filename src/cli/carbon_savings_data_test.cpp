// SPDX-License-Identifier: Apache-2.0
//
// The reference figures of what time-shifting can give, computed independently from the same public
// files: July to December 2021, lifecycle intensity, percent saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <string>

#include "formats/carbon_regions.h"
#include "formats/data_dir_testing.h"
#include "formats/supply_csv.h"
#include "formats/temporary_file_testing.h"
#include "predict/energy/shifting.h"

namespace weir::cli {
namespace {

struct Reference {
  const char* region;
  std::array<std::array<double, 3>, 4> percent;  // by shape: perfect, forecast, contiguous
};

constexpr std::array<Reference, 6> kReference{{
    {"ciso", {{{27.5, 26.3, 26.1}, {16.6, 15.0, 11.9}, {28.2, 21.8, 13.4}, {25.7, 16.1, 2.1}}}},
    {"de", {{{17.0, 14.9, 14.1}, {10.5, 9.1, 7.4}, {20.6, 17.1, 14.5}, {20.1, 16.3, 11.3}}}},
    {"erco", {{{12.4, 5.6, 5.6}, {7.8, 3.2, 2.9}, {15.0, 5.5, 4.9}, {14.3, 4.5, 4.6}}}},
    {"isne", {{{7.5, 4.0, 3.9}, {4.5, 1.8, 1.7}, {8.3, 2.9, 2.2}, {7.7, 1.7, 0.6}}}},
    {"pjm", {{{5.4, 3.6, 3.6}, {3.2, 1.9, 1.7}, {6.1, 3.2, 2.5}, {5.8, 2.4, 1.7}}}},
    {"se", {{{5.0, 1.5, 1.3}, {3.2, 1.0, 0.9}, {6.2, 1.3, 1.6}, {6.1, 1.8, 2.9}}}},
}};

TEST(CarbonSavingsData, AreTheReferenceFiguresOfSixRegionsAndFourShapes) {
  WEIR_NEEDS_DATA(data);
  constexpr double kRounding = 0.05;  // of the reference; 0.2 points were allowed
  const auto known = formats::carbon_regions_in(data / "carbon" / "intensity", "--region");
  ASSERT_TRUE(known) << formats::mistakes_of(known);
  double worst = 0;
  for (const Reference& reference : kReference) {
    const auto region = formats::choose_regions(*known, {reference.region}, "--region");
    ASSERT_TRUE(region) << formats::mistakes_of(region);
    const auto series = formats::read_supply(region->front().series);
    const auto forecasts = formats::read_forecast(region->front().forecast.value());
    ASSERT_TRUE(series) << formats::mistakes_of(series);
    ASSERT_TRUE(forecasts) << formats::mistakes_of(forecasts);
    for (std::size_t i = 0; i < predict::kUsualShapes.size(); ++i) {
      const predict::ShiftSavings savings =
          shift_savings(series->series, forecasts->book, predict::kUsualShapes[i]);
      EXPECT_EQ(savings.submissions, 724U);
      const std::array<double, 3> found = {*savings.perfect_percent(), *savings.forecast_percent(),
                                           *savings.contiguous_percent()};
      for (std::size_t k = 0; k < found.size(); ++k) {
        EXPECT_NEAR(found[k], reference.percent[i][k], kRounding + 1e-9)
            << reference.region << ", shape " << i << ", figure " << k;
        worst = std::max(worst, std::abs(found[k] - reference.percent[i][k]));
      }
    }
  }
  RecordProperty("worst_deviation_points", std::to_string(worst));
  std::cout << "worst deviation of 72 figures: " << worst << " points\n";
}

}  // namespace
}  // namespace weir::cli
