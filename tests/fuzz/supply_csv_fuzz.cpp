// SPDX-License-Identifier: Apache-2.0
//
// Series and forecasts of carbon, price or power: whatever comes out can be integrated.
#include <cmath>

#include "formats/supply_csv.h"
#include "round_trip_check.h"

namespace {

void check_series(const weir::SupplySeries& series) {
  using namespace weir;
  fuzz::check(!series.empty() && series.step() > Duration{0}, "a series has a value and a step");
  fuzz::check(series.values().size() <= formats::kMostSupplySteps, "a series has a limit");
  for (const double value : series.values())
    fuzz::check(std::isfinite(value) && value >= 0, "a value is finite and not negative");
  fuzz::check(std::isfinite(series.integral(series.begin(), series.end())), "its sum is finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const auto text = fuzz::text_of(data, size);
  if (auto input = formats::InputFile::from_memory("fuzz.csv", text)) {
    const auto file = formats::read_supply(std::move(*input));
    fuzz::check_refusal(file);
    if (file) check_series(file->series);
  }
  if (auto input = formats::InputFile::from_memory("fuzz.csv", text)) {
    const auto file = formats::read_forecast(std::move(*input));
    fuzz::check_refusal(file);
    if (!file) return 0;
    fuzz::check(!file->book.empty(), "a book has a forecast");
    for (const SupplyForecast& forecast : file->book.all()) {
      check_series(forecast.expected);
      fuzz::check(file->book.known_at(forecast.issued) == &forecast.expected,
                  "a forecast is known from its issue on");
    }
  }
  return 0;
}
