// SPDX-License-Identifier: Apache-2.0
#include "predict/energy/shifting.h"

#include <algorithm>
#include <numeric>

namespace weir::predict {
namespace {

constexpr Duration kHour = std::chrono::hours{1};
constexpr Duration kBetweenSubmissions = std::chrono::hours{6};
constexpr int kSubmissionsPerDay = 4;

double mean_of_hour(const SupplySeries& series, Time begin) {
  const Time end = begin + kHour;
  if (series.next_step(begin) >= end) return series.at(begin);  // its own value, not a rounded mean
  double sum = 0;
  for (Time at = begin; at < end;) {
    const Time next = std::min(series.next_step(at), end);
    sum += series.at(at) * to_seconds(next - at);
    at = next;
  }
  return sum / to_seconds(kHour);
}

std::vector<std::size_t> by_price(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

// What the hours that `chosen_by` calls cheapest cost.
double cheapest_hours(std::span<const double> actual, std::span<const double> chosen_by,
                      std::size_t hours) {
  double sum = 0;
  const auto order = by_price(chosen_by);
  for (std::size_t i = 0; i < hours; ++i) sum += actual[order[i]];
  return sum;
}

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double cheapest_piece(std::span<const double> actual, std::span<const double> chosen_by,
                      std::size_t hours) {
  std::size_t best = 0;
  double least = sum_of(chosen_by.first(hours));
  for (std::size_t i = 1; i + hours <= chosen_by.size(); ++i) {
    const double sum = sum_of(chosen_by.subspan(i, hours));
    if (sum < least) {
      least = sum;
      best = i;
    }
  }
  return sum_of(actual.subspan(best, hours));
}

void add(ShiftSavings& savings, Time submitted, const ShiftCost& cost) {
  if (savings.submissions++ == 0) savings.first = submitted;
  savings.last = submitted;
  savings.cost.at_once += cost.at_once;
  savings.cost.perfect += cost.perfect;
  savings.cost.forecast += cost.forecast;
  savings.cost.contiguous += cost.contiguous;
}

std::optional<double> percent(const ShiftSavings& savings, double cost) {
  if (savings.submissions == 0 || savings.cost.at_once <= 0) return std::nullopt;
  return 100 * (1 - cost / savings.cost.at_once);
}

}  // namespace

ShiftCost shift_cost(std::span<const double> actual, std::span<const double> expected,
                     std::int32_t hours) {
  const auto length = static_cast<std::size_t>(hours);
  ShiftCost cost;
  cost.at_once = sum_of(actual.first(length));
  cost.perfect = cheapest_hours(actual, actual, length);
  if (expected.empty()) return cost;
  cost.forecast = cheapest_hours(actual, expected, length);
  cost.contiguous = cheapest_piece(actual, expected, length);
  return cost;
}

std::optional<double> ShiftSavings::perfect_percent() const {
  return percent(*this, cost.perfect);
}

std::optional<double> ShiftSavings::forecast_percent() const {
  return has_forecast ? percent(*this, cost.forecast) : std::nullopt;
}

std::optional<double> ShiftSavings::contiguous_percent() const {
  return has_forecast ? percent(*this, cost.contiguous) : std::nullopt;
}

std::vector<double> hourly(const SupplySeries& series, Time begin, std::int32_t hours) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(hours));
  for (std::int32_t i = 0; i < hours; ++i)
    values.push_back(mean_of_hour(series, begin + kHour * i));
  return values;
}

ShiftSavings shift_savings(const SupplySeries& actual, const ForecastBook& forecasts,
                           const ShiftShape& shape) {
  ShiftSavings savings{shape, 0, true, {}, {}, {}};
  for (const SupplyForecast& forecast : forecasts.all()) {
    for (int i = 0; i < kSubmissionsPerDay; ++i) {
      const Time begin = forecast.issued + kBetweenSubmissions * i;
      const Time end = begin + kHour * shape.within;
      if (begin < forecast.expected.begin() || end > forecast.expected.end()) continue;
      if (begin < actual.begin() || end > actual.end()) continue;
      add(savings, begin,
          shift_cost(hourly(actual, begin, shape.within),
                     hourly(forecast.expected, begin, shape.within), shape.hours));
    }
  }
  return savings;
}

ShiftSavings shift_savings(const SupplySeries& actual, const ShiftShape& shape) {
  ShiftSavings savings{shape, 0, false, {}, {}, {}};
  const Time first = std::chrono::ceil<std::chrono::hours>(actual.begin());
  for (Time begin = first; begin + kHour * shape.within <= actual.end();
       begin += kBetweenSubmissions) {
    add(savings, begin, shift_cost(hourly(actual, begin, shape.within), {}, shape.hours));
  }
  return savings;
}

}  // namespace weir::predict
