// SPDX-License-Identifier: Apache-2.0
//
// `weir network waits`: what contention-free partitions cost in waiting. `weir network study`: how soon
// a mix of training jobs is done under several ways to share the network.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec network_waits_spec();
Result<void> network_waits_command(const OptionValues& options, Console& console);

CommandSpec network_study_spec();
Result<void> network_study_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
