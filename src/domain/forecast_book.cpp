// SPDX-License-Identifier: Apache-2.0
#include "domain/forecast_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir {

ForecastBook::ForecastBook(std::vector<SupplyForecast> forecasts)
    : forecasts_{std::move(forecasts)} {}

const SupplySeries* ForecastBook::known_at(Time time) const {
  const auto later = std::upper_bound(
      forecasts_.begin(), forecasts_.end(), time,
      [](Time at, const SupplyForecast& forecast) { return at < forecast.issued; });
  return later == forecasts_.begin() ? nullptr : &std::prev(later)->expected;
}

const SupplySeries* ForecastBook::issued_at(Time time) const {
  const auto found = std::lower_bound(
      forecasts_.begin(), forecasts_.end(), time,
      [](const SupplyForecast& forecast, Time at) { return forecast.issued < at; });
  return found == forecasts_.end() || found->issued != time ? nullptr : &found->expected;
}

ForecastBook ForecastBook::shifted(Duration by) const {
  std::vector<SupplyForecast> forecasts;
  forecasts.reserve(forecasts_.size());
  for (const SupplyForecast& one : forecasts_)
    forecasts.push_back({one.issued + by, one.expected.shifted(by)});
  return ForecastBook{std::move(forecasts)};
}

}  // namespace weir
