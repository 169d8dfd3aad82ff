// SPDX-License-Identifier: Apache-2.0
//
// `weir completion`: what a shell needs to complete weir's commands and options, made from the
// command table.
#pragma once

#include <string>
#include <string_view>

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec completion_spec();
Result<void> completion_command(const OptionValues& options, Console& console);

// `shell` is bash, zsh or fish.
std::string completion_script(std::string_view shell);

}  // namespace weir::cli
