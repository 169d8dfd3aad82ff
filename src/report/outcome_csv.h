// SPDX-License-Identifier: Apache-2.0
//
// Outcomes as CSV, one row for each run, for spreadsheets and data frames. Inflation runs have a
// column for each percentage of arrivals (`allocated_100`), as the published tables do; a cell
// without samples is empty.
#pragma once

#include <span>
#include <string>

#include "simulate/outcome.h"

namespace weir::report {

std::string outcome_csv(std::span<const simulate::InflationOutcome> outcomes);
std::string outcome_csv(std::span<const simulate::ChurnOutcome> outcomes);

}  // namespace weir::report
