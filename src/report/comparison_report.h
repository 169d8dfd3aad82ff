// SPDX-License-Identifier: Apache-2.0
//
// One HTML page about policies on many traces: weir beside the best of the others, every run, and
// for each trace how long jobs took, how much time they had to spare and which sizes of jobs met
// their deadlines; charts of who had which GPUs when, for a few runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/comparison.h"
#include "report/html_page.h"
#include "report/training_report.h"

namespace weir::report {

// A run that is shown in detail, under its name: "weir, night".
struct NamedRun {
  std::string name;
  std::int64_t gpus = 0;
  ShownRun shown;
};

// Requires: the runs have their plots (Detail::with_plots).
std::string comparison_report(const ReportHeader& header, std::span<const ComparedRun> runs,
                              std::span<const NamedRun> shown);

}  // namespace weir::report
