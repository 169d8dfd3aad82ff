// SPDX-License-Identifier: Apache-2.0
//
// What a server that observes has seen, from its state folder: to simulate, or to keep as files.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/simulation_inputs.h"
#include "control/observed_history.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

// Options: --state.
Result<control::ObservedHistory> read_history(const OptionValues& options);

// Options: --state, --add-nodes, --lose.
Result<SimulationInputs> observed_inputs(const OptionValues& options, Console& console);

// "812 tasks: 790 ended, ..."
std::string history_text(const control::ObservedHistory& history);

CommandSpec trace_observed_spec();
Result<void> trace_observed_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
