// SPDX-License-Identifier: Apache-2.0
//
// What jobs save when they may choose their hours (predict/energy/shifting.h), for some regions or
// files and some shapes of jobs: one table, JSON, and a page with a bar for each way to choose.
//
//   {"runs":[{"name":"ciso","quantity":"carbon_lifecycle","unit":"g/kWh","hours":6,"within":24,
//     "submissions":724,"first_submission":"2021-07-01T00:00:00Z","last_submission":"...",
//     "at_once_mean":271.5,"perfect_percent":27.5,"forecast_percent":26.3,"contiguous_percent":26.1}],
//    "basis":"...","notes":["..."]}
//
// at_once_mean is per hour of a job, in the unit. Times and figures are null where there is
// nothing to compare.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/result.h"
#include "domain/supply_kind.h"
#include "predict/energy/shifting.h"
#include "report/html_page.h"
#include "report/table.h"

namespace weir::report {

struct SeriesSavings {
  std::string name{};                           // of the region or file
  SupplyKind kind{};                            // carbon or a price
  std::vector<predict::ShiftSavings> shapes{};  // the same shapes in every series
  std::vector<std::string> notes{};             // what was repaired or left out
};

// A row for each series, a column for each shape.
Table savings_table(std::span<const SeriesSavings> series);
// What the figures are, and are not.
std::string savings_basis(const SupplyKind& kind);
// The notes of all series; those that several have stand once, with their names.
std::vector<std::string> joined_notes(std::span<const SeriesSavings> series);

// Requires of these: at least one series, all of one kind.
Result<std::string> savings_json(std::span<const SeriesSavings> series);
std::string savings_report(const ReportHeader& header, std::span<const SeriesSavings> series);

}  // namespace weir::report
