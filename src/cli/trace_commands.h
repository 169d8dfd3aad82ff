// SPDX-License-Identifier: Apache-2.0
//
// `weir trace describe`, `weir trace convert` and `weir trace synth`.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> trace_describe_command(const OptionValues& options, Console& console);
Result<void> trace_convert_command(const OptionValues& options, Console& console);
Result<void> trace_synth_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
