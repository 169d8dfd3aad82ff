// SPDX-License-Identifier: Apache-2.0
//
// What a job saves when it may choose its hours: L whole hours of constant power within W hours of its
// submission, against running at once.
//   perfect     the L cheapest hours, by what came true: the limit
//   forecast    the L hours that the forecast calls cheapest, at what they really cost
//   contiguous  the L hours in one piece that the forecast calls cheapest, at what they really cost
// Four submissions a day, 0, 6, 12 and 18 hours after each forecast was issued; windows that reach
// beyond the forecast, or beyond the series, are left out. Ties go to the earlier hour.
//
// The saving is that of all submissions together, 1 - sum / sum at once: what a bill would show. (The
// mean of each submission's own percentage is another number: in California up to 2.6 points less.)
// Limits: power is constant, hours are whole and need not be adjacent (pausing is free), and the job
// does not change the grid: the intensity is the average one, not the marginal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "domain/forecast_book.h"
#include "domain/supply_series.h"

namespace weir::predict {

struct ShiftShape {
  std::int32_t hours = 0;   // of the job, 1 or more
  std::int32_t within = 0;  // of its window, no fewer
  friend bool operator==(const ShiftShape&, const ShiftShape&) = default;
};

inline constexpr std::array<ShiftShape, 4> kUsualShapes{{{6, 24}, {12, 24}, {12, 48}, {24, 72}}};

// Sums over the hours of jobs, in the unit of the series: for a job of 1 kW, grams or money.
struct ShiftCost {
  double at_once = 0;
  double perfect = 0;
  double forecast = 0;  // this and the next stay 0 where there is no forecast
  double contiguous = 0;
  friend bool operator==(const ShiftCost&, const ShiftCost&) = default;
};

// One window, hour by hour. `expected` is as long as `actual`, or empty without a forecast.
// Requires: 1 <= hours <= actual.size().
ShiftCost shift_cost(std::span<const double> actual, std::span<const double> expected,
                     std::int32_t hours);

struct ShiftSavings {
  ShiftShape shape{};
  std::size_t submissions = 0;
  bool has_forecast = false;
  ShiftCost cost{};  // of all submissions
  Time first{};      // submission, and the last; only where there are some
  Time last{};

  // In percent of `at_once`. Nothing without submissions, when running at once costs nothing, and for
  // the last two without a forecast.
  std::optional<double> perfect_percent() const;
  std::optional<double> forecast_percent() const;
  std::optional<double> contiguous_percent() const;
};

// Requires: a shape as above; the series is not empty.
ShiftSavings shift_savings(const SupplySeries& actual, const ForecastBook& forecasts,
                           const ShiftShape& shape);
// Without forecasts: a submission every six hours of the series, from its first whole hour on.
ShiftSavings shift_savings(const SupplySeries& actual, const ShiftShape& shape);

// The mean of each hour from `begin` on.
std::vector<double> hourly(const SupplySeries& series, Time begin, std::int32_t hours);

}  // namespace weir::predict
