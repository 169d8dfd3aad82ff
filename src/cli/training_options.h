// SPDX-License-Identifier: Apache-2.0
//
// The options of every command that plays training jobs: rows of the command table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/options.h"
#include "schedule/policies/training_policy.h"
#include "simulate/training_run.h"

namespace weir::cli {

// --cluster, --jobs, --curves.
std::vector<OptionSpec> training_input_options();

// --slot, --round, --gate, --counter-offers, --provisional, --ablate, --reserve, --job-speed,
// --speed-seed, --node-mtbf, --node-repair, --checkpoint-every, --failure-seed.
std::vector<OptionSpec> training_rule_options();
OptionSpec reserve_option();

// Adds what is wrong with them, beyond what a single option shows.
void check_training_rules(const OptionValues& options, Diagnostics& mistakes);

// --seeds draw what --speed-seed and --failure-seed draw.
void check_seeds(const OptionValues& options, Diagnostics& mistakes);

// The same for --ablate and --reserve, which are about one policy: weir must be among those played.
void check_parts_of_weir(const OptionValues& options, const std::vector<std::string>& policies,
                         Diagnostics& mistakes);

// The policies there are for training jobs, in the table's order.
std::vector<std::string> training_policy_names();

// --policy and --seeds have defaults that are for tasks: here only what was given counts. The check
// is whether the policies are for training jobs; `all` stands for all of them. No seeds: none given.
void check_training_policies(const OptionValues& options, Diagnostics& mistakes);
std::vector<std::string> given_training_policies(const OptionValues& options);
std::vector<std::uint64_t> given_training_seeds(const OptionValues& options);

// The recipe, with what is left out of it because it is the default of tasks.
std::string training_recipe(const OptionValues& options);

// What they say. Requires: check_training_rules found nothing.
schedule::TrainingConfig training_rules(const OptionValues& options);
simulate::JobSpeeds job_speeds(const OptionValues& options);
simulate::NodeFailures node_failures(const OptionValues& options);
Duration checkpoint_interval(const OptionValues& options);

}  // namespace weir::cli
