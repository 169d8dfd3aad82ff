// SPDX-License-Identifier: Apache-2.0
//
// `weir simulate --jobs ...`: plays training jobs with deadlines on a cluster, once for each policy,
// prints and writes the result.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

// True when the options ask for training jobs rather than tasks.
bool asks_for_training(const OptionValues& options);

Result<void> train_simulation_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
