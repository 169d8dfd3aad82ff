// SPDX-License-Identifier: Apache-2.0
//
// A plan with what it is predicted to cost, as JSON for programs. `weir predict --plan` reads it back.
//
//   {"predicted_ms":..,"lower_bound_ms":..,"search_s":..,"max_memory_mib":..,"samples_per_s":..,
//    "database":.., ... "microbatch":1,
//    "stages":[{"ops":[0,78],"gpus":1,"tp":[[1,78]], ... "time_ms":..,"memory_mib":..}]}
//
//   time_ms     the iteration as this stage alone would pace it; the largest is predicted_ms
//   memory_mib  of each GPU of the stage
//   path        with --explain: from a naive plan to this one
//   advice      likewise: what would help
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/plan_view.h"

namespace weir::report {

nlohmann::ordered_json plan_json(const PlanView& view);

}  // namespace weir::report
