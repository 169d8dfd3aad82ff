// SPDX-License-Identifier: Apache-2.0
//
// A power book for people and programs: at each size and clock of a job its rate, its power and its
// energy per iteration.
#pragma once

#include <string>
#include <vector>

#include "domain/power_table.h"
#include "domain/result.h"
#include "report/table.h"

namespace weir::report {

double joules_per_iteration(const PowerPoint& point);

// One table for each model and batch.
std::vector<Table> power_book_tables(const PowerBook& book);
// What the columns mean, and what the book takes for granted.
std::string power_book_legend(const PowerBook& book);

Result<std::string> power_book_json(const PowerBook& book);

}  // namespace weir::report
