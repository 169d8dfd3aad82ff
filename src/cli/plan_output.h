// SPDX-License-Identifier: Apache-2.0
//
// What `weir plan` and `weir predict` print and write.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "report/plan_view.h"

namespace weir::cli {

// Files first, then standard output.
Result<void> publish_plan(const OptionValues& options, const report::PlanView& view,
                          Console& console);

}  // namespace weir::cli
