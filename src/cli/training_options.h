// SPDX-License-Identifier: Apache-2.0
//
// The options of every command that plays training jobs: rows of the command table.
#pragma once

#include <string>
#include <vector>

#include "domain/options.h"
#include "schedule/policies/training_policy.h"
#include "simulate/training_run.h"

namespace weir::cli {

// --cluster, --jobs, --curves.
std::vector<OptionSpec> training_input_options();

// --slot, --round, --gate, --counter-offers, --provisional, --ablate, --job-speed, --speed-seed.
std::vector<OptionSpec> training_rule_options();

// Adds what is wrong with them, beyond what a single option shows.
void check_training_rules(const OptionValues& options, Diagnostics& mistakes);

// The same for --ablate, which is about one policy: weir must be among those that are played.
void check_ablation(const OptionValues& options, const std::vector<std::string>& policies,
                    Diagnostics& mistakes);

// What they say. Requires: check_training_rules found nothing.
schedule::TrainingConfig training_rules(const OptionValues& options);
simulate::JobSpeeds job_speeds(const OptionValues& options);

}  // namespace weir::cli
