// SPDX-License-Identifier: Apache-2.0
//
// The options of `weir plan` for a model that nobody measured: a config.json and a type of GPU.
#pragma once

#include <vector>

#include "domain/options.h"

namespace weir::cli {

std::vector<OptionSpec> transformer_options();

// Whether the model is given by its dimensions.
bool is_unmeasured(const OptionValues& options);

// Options that belong to the other kind of model, and those that cannot stand together, are refused.
void check_kind_of_model(const OptionValues& options, Diagnostics& mistakes);

}  // namespace weir::cli
