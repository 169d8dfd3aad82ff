// SPDX-License-Identifier: Apache-2.0
//
// The options of every command that plays training jobs: rows of the command table.
#pragma once

#include <string>
#include <vector>

#include "domain/options.h"

namespace weir::cli {

// --cluster, --jobs, --curves.
std::vector<OptionSpec> training_input_options();

// --slot, --gate, --counter-offers.
std::vector<OptionSpec> training_rule_options();

}  // namespace weir::cli
