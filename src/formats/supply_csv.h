// SPDX-License-Identifier: Apache-2.0
//
// What the grid gives over time: carbon, price or a power cap, and forecasts of it. CSV, plain or
// gzip, columns in any order, others ignored. Weir's own files say the unit in the column's name
// (supply_column.h):
//
//   utc_time,carbon_g_per_kwh            time,price_eur_per_mwh
//   2021-03-28T00:00Z,312.5              2021-03-28T01:00+01:00,87.2
//   2021-03-28T01:00Z,298                2021-03-28T03:00+02:00,79
//
// `utc_time` is UTC, with a Z or without. In `time` every row has its offset: where clocks are changed,
// a local hour without one happens twice or never, so it is refused. One quantity per file; the public
// series utc_time, ci_lifecycle, ci_direct has two columns of which one is taken, never both.
// A forecast file has the issue time of each forecast, too, and its rows follow each other:
//
//   issue_utc_time,utc_time,carbon_g_per_kwh          (or issue_time with offsets)
//
// or is a public one: issue_day, lead_hour, utc_time, forecast, in g/kWh with lifecycle factors, one a
// day. It was issued lead_hour hours before utc_time; one whose utc_time is not that of its issue_day
// (each of the six public files has one) goes by issue_day and is counted; more than one and a tenth of
// them is a mistake. Its `actual` is not read:
// what was is in the series.
// Steps, gaps and negative prices: supply_steps.h. An empty cell is a missing row.
#pragma once

#include <filesystem>
#include <optional>

#include "domain/forecast_book.h"
#include "domain/result.h"
#include "domain/supply_kind.h"
#include "domain/supply_series.h"
#include "formats/input_file.h"
#include "formats/supply_steps.h"

namespace weir::formats {

inline constexpr std::uint64_t kMaxSupplyBytes = std::uint64_t{256} << 20;
inline constexpr double kMostSupply = 1e12;  // of a value as it stands; no sum of them overflows

struct SupplyFile {
  SupplyKind kind{};
  SupplySeries series{};
  SupplyRepairs repairs{};
};

struct ForecastFile {
  SupplyKind kind{};
  ForecastBook book{};
  SupplyRepairs repairs{};
};

// `factors`: the carbon column to take; a file that has no such column is refused. Without it
// lifecycle where the file has both, else what it has.
Result<SupplyFile> read_supply(InputFile input, std::optional<CarbonFactors> factors = {});
Result<SupplyFile> read_supply(const std::filesystem::path& path,
                               std::optional<CarbonFactors> factors = {});

Result<ForecastFile> read_forecast(InputFile input);
Result<ForecastFile> read_forecast(const std::filesystem::path& path);

// A forecast of something else than the series has is a mistake of the forecast.
void check_same_kind(const std::filesystem::path& series_path, const SupplyKind& series,
                     const std::filesystem::path& forecast_path, const SupplyKind& forecast,
                     Diagnostics& mistakes);

}  // namespace weir::formats
