// SPDX-License-Identifier: Apache-2.0
//
// One HTML page about training runs: deadlines met, how long jobs took, how much time was to spare,
// GPUs in use, and a chart of who had which GPUs when.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/record_log.h"
#include "report/html_page.h"
#include "simulate/allocation_history.h"
#include "simulate/training_sweep.h"

namespace weir::report {

inline constexpr std::size_t kUsageStretches = 360;  // of the plot of GPUs in use

// The run that is shown in detail.
struct ShownRun {
  std::size_t run = 0;  // its position among the runs
  simulate::AllocationHistory history;
  std::vector<formats::RecordLogHeader::Pool> pools;
};

// GPUs in use and who ran where, in that run. `where` names it in headings.
std::string shown_figures(const ShownRun& shown, const std::string& where, std::int64_t gpus);

std::string training_report(const ReportHeader& header,
                            std::span<const simulate::TrainingSweepRun> runs,
                            const std::optional<ShownRun>& shown);

}  // namespace weir::report
