// SPDX-License-Identifier: Apache-2.0
//
// The whole program as a function, so that tests call it like a user does.
#pragma once

#include <span>
#include <string>

#include "cli/console.h"

namespace weir::cli {

// `words` are the arguments without the program's name. Returns the exit code: 0 ok, 1 failure, 2
// bad input, 3 refused or infeasible, 4 unavailable. Never throws.
int run(std::span<const std::string> words, Console& console);

}  // namespace weir::cli
