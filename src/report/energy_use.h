// SPDX-License-Identifier: Apache-2.0
//
// Who used how much energy, and what it cost: a table, JSON and a page.
//
//   {"by":"tenant","unit":"g CO2","rows":[{"name":"vision","kwh":12.5,"amount":4100.2}],
//    "total":{"kwh":12.5,"amount":4100.2}}
#pragma once

#include <string>
#include <vector>

#include "domain/result.h"
#include "report/html_page.h"
#include "report/table.h"

namespace weir::report {

struct EnergyRow {
  std::string name;
  double kwh = 0;
  double amount = 0;
};

struct EnergyUseReport {
  std::string by;    // "job", "tenant", "day"
  std::string unit;  // "g CO2", "EUR"
  std::vector<EnergyRow> rows;
  std::vector<std::string> notes;
};

// Amounts of grams in the unit that suits the largest.
Table energy_table(const EnergyUseReport& report);
Result<std::string> energy_json(const EnergyUseReport& report);
std::string energy_page(const ReportHeader& header, const EnergyUseReport& report);

}  // namespace weir::report
