// SPDX-License-Identifier: Apache-2.0
//
// What a network and the way it is shared mean for jobs, by their size.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "report/table.h"
#include "report/training_summary.h"

namespace weir::report {

// One for each trace that was played on a network.
std::vector<Table> network_tables(std::span<const TrainingSummary> summaries);
std::string_view network_legend();

}  // namespace weir::report
