// SPDX-License-Identifier: Apache-2.0
//
// Under overload, who comes first is not who should be served: one giant can take the room of many
// small jobs. The gate refuses a job that would fit when both hold:
//   - several cheaper jobs were refused for lack of room in the last days, and
//   - what is promised inside its window, what cheaper jobs are likely to bring into it, and the
//     job itself are together more than the pool has.
// At nominal load the first does not hold and the gate is open.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/time.h"
#include "domain/work.h"
#include "schedule/admit/capacity_profile.h"
#include "schedule/core/training_state.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// The least GPU-time with which the job can be done in the window, if sizes could be mixed freely:
// on the lower convex envelope of GPUs over throughput.
std::int64_t least_gpu_seconds(const SizeTable& sizes, Work left, Duration window);

// How many cheaper jobs were refused, when the job should be refused for their sake.
std::optional<std::int64_t> gate_closes(const PoolState& pool, const CapacityProfile& unpromised,
                                        std::int64_t gpu_seconds, Time now, Time deadline,
                                        const GateRules& rules);

}  // namespace weir::schedule
