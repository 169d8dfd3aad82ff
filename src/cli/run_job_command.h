// SPDX-License-Identifier: Apache-2.0
//
// `weir run`: a script on this machine as weir would run it, in the foreground and without a server;
// also to find out whether it survives being resized.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec run_job_spec();
// The exit code is that of the job.
Result<void> run_job_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
