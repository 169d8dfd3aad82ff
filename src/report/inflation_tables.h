// SPDX-License-Identifier: Apache-2.0
//
// The tables of an inflation comparison. One list gives one table, a row for each policy. Several
// lists give one table for each figure, a row for each list and a column for each policy.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "report/inflation_summary.h"
#include "report/table.h"

namespace weir::report {

std::vector<Table> inflation_tables(std::span<const ListSummary> lists);

// What the short headings mean. (They are short so that a table fits a terminal of 100 columns.)
std::string_view inflation_legend();

// The points of a plot in steps of ten percent arrived, a row for each policy.
Table allocation_curve_table(const ListSummary& list);
Table fragmentation_curve_table(const ListSummary& list);

// GPUs stranded at 100 % arrived: a row for each list, a column for each policy.
Table stranded_table(std::span<const ListSummary> lists);

}  // namespace weir::report
