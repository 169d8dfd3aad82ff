// SPDX-License-Identifier: Apache-2.0
//
// Why `weir plan` found no plan, as mistakes that say what to change.
#pragma once

#include "domain/options.h"
#include "domain/result.h"
#include "plan/training/feasibility.h"

namespace weir::cli {

Error infeasible_error(const OptionValues& options, const PlanCluster& cluster,
                       const plan::Infeasibility& why);

// The budget ended before there was any plan: nobody knows whether there is one.
Error too_short_error(const OptionValues& options);

}  // namespace weir::cli
