// SPDX-License-Identifier: Apache-2.0
//
// `weir policies`: what can be compared.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> policies_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
