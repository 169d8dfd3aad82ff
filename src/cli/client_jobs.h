// SPDX-License-Identifier: Apache-2.0
//
// `weir jobs`, `weir job`, `weir cancel`: what the server has, and what becomes of it.
#pragma once

#include "cli/client_api.h"
#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec jobs_spec();
Result<void> jobs_command(const OptionValues& options, Console& console);

CommandSpec job_spec();
Result<void> job_command(const OptionValues& options, Console& console);

CommandSpec cancel_spec();
Result<void> cancel_command(const OptionValues& options, Console& console);

// The newest jobs, page by page, as one list. An empty phase stands for all.
Result<ApiJson> newest_jobs(ApiClient& client, std::int64_t limit, const std::string& phase);

}  // namespace weir::cli
