// SPDX-License-Identifier: Apache-2.0
//
// `weir top`: the cluster and what runs on it, live.
#pragma once

#include <string>

#include "cli/client_api.h"
#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec top_spec();
Result<void> top_command(const OptionValues& options, Console& console);

// One picture, at most `lines` long; 0 means any length. `jobs` are those that are not over.
std::string top_text(const ApiJson& nodes, const ApiJson& jobs, std::size_t lines);

}  // namespace weir::cli
