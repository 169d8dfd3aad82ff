// SPDX-License-Identifier: Apache-2.0
//
// A job document as the scheduler's core wants it. A training job has a curve; any other program is a
// job that makes a thousand iterations per second on exactly the GPUs it asks for, for as long as it is
// said to take.
#pragma once

#include <optional>
#include <string>

#include "control/live_clock.h"
#include "domain/engine.h"
#include "domain/result.h"
#include "domain/training.h"
#include "formats/job_document.h"
#include "schedule/core/training_state.h"

namespace weir::control {

// No model can have this name: it has a space.
CurveKey any_program();
Curve any_program_curve();

inline constexpr Duration kAssumedDuration = std::chrono::hours{1};  // when nobody says

// What the job asks of the core; a training job is planned to be done with so many thousandths of its
// time to spare. The error says what this cluster cannot give, or that the deadline has
// passed.
Result<TrainingSpec> training_spec(const formats::JobDocument& document,
                                   const schedule::TrainingState& state, Time now,
                                   const LiveClock& clock, std::int32_t margin_permille = 0);

}  // namespace weir::control
