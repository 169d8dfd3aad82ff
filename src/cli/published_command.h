// SPDX-License-Identifier: Apache-2.0
//
// `weir simulate --as-published`: the policies of the published ElasticFlow comparison under the
// accounting of its public simulator (simulate/published), to compare with the published figures.
#pragma once

#include <vector>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

std::vector<OptionSpec> published_options();

// Requires: --as-published is given.
Result<void> published_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
