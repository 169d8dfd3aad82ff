// SPDX-License-Identifier: Apache-2.0
//
// `weir nodes` and `weir drain`: the machines, and who uses them.
#pragma once

#include "cli/client_api.h"
#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "report/table.h"

namespace weir::cli {

CommandSpec nodes_spec();
Result<void> nodes_command(const OptionValues& options, Console& console);

CommandSpec drain_spec();
Result<void> drain_command(const OptionValues& options, Console& console);

// Of the API's answer.
report::Table node_table(const ApiJson& nodes);

}  // namespace weir::cli
