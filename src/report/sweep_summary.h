// SPDX-License-Identifier: Apache-2.0
//
// Sweeps over power limits for people and programs: what the best limit saves, and how well the
// model of predict/energy fits, per kind of GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "domain/power_sweep.h"
#include "domain/result.h"
#include "predict/energy/fit_sweep.h"
#include "predict/energy/limit_saving.h"
#include "report/table.h"

namespace weir::report {

struct SweptJobFigures {
  SweptJob job;
  std::size_t limits = 0;
  std::optional<predict::LimitSaving> saving;
  bool is_untouched = false;
  std::optional<predict::SweepFit> fit;
};

struct SweepSummary {
  std::string file;
  std::string gpu;  // the file's name where it does not say
  std::vector<SweptJobFigures> jobs;
};

SweepSummary summarise_sweeps(std::string file, const PowerSweeps& sweeps);

// The value below which that part of them lies, on the straight line between the two nearest: half
// is the usual median. Nothing without values.
std::optional<double> quantile(std::vector<double> values, double part);

Table saving_table(std::span<const SweepSummary> summaries);
Table sweep_fit_table(std::span<const SweepSummary> summaries);
// What the columns mean.
std::string_view sweep_legend();

Result<std::string> sweeps_json(std::span<const SweepSummary> summaries);

}  // namespace weir::report
