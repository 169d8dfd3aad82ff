// SPDX-License-Identifier: Apache-2.0
//
// `weir serve --engine kubernetes --mode observe`: beside whatever scheduler is there, read-only.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

Result<void> serve_observing(const OptionValues& options, Console& console);

}  // namespace weir::cli
