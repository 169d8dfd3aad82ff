// SPDX-License-Identifier: Apache-2.0
//
// Options about the network of commands that play training jobs: the fabric, whether jobs share it, and
// what they send over it.
#pragma once

#include <vector>

#include "cli/training_setup.h"
#include "domain/diagnostics.h"
#include "domain/options.h"
#include "domain/result.h"
#include "simulate/training_run.h"

namespace weir::cli {

std::vector<OptionSpec> network_options();

// Options that need others, or make no sense together.
void check_network(const OptionValues& options, Diagnostics& mistakes);

// One for each placement; none where nobody asks.
Result<std::vector<simulate::NetworkSetup>> read_networks(const OptionValues& options,
                                                          const TrainingSetup& setup);

}  // namespace weir::cli
