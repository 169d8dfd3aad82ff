// SPDX-License-Identifier: Apache-2.0
//
// Options about energy of commands that play training jobs: what a kilowatt-hour costs, budgets,
// caps, prices.
#pragma once

#include <string>
#include <vector>

#include "domain/curve.h"
#include "domain/diagnostics.h"
#include "domain/options.h"
#include "domain/result.h"
#include "domain/training.h"
#include "simulate/training_run.h"

namespace weir::cli {

std::vector<OptionSpec> energy_options();

// Options that need others, or make no sense together.
void check_energy(const OptionValues& options, Diagnostics& mistakes);

// Time::max() when there are no jobs.
Time first_submission(const TrainingWorkload& workload);

struct EnergyInput {
  std::vector<simulate::EnergySetup> by_workload;  // empty where nobody asks
  std::string unit;                                // "g CO2", "EUR"
  std::vector<std::string> notes;                  // what was repaired in the series
};
Result<EnergyInput> read_energy(const OptionValues& options, const std::vector<CurveBook>& curves,
                                const std::vector<TrainingWorkload>& workloads);

}  // namespace weir::cli
