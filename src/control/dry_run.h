// SPDX-License-Identifier: Apache-2.0
//
// What would become of a job, asked of a fork of the scheduler: the same core, the same decision, and
// nothing happens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/event.h"
#include "domain/record.h"
#include "schedule/core/core.h"

namespace weir::control {

struct DryRunAnswer {
  enum class Kind : std::uint8_t { promised, queued, refused, waiting };
  Kind kind = Kind::waiting;
  Reason reason;
  // All in the scheduler's time.
  std::optional<Time> deadline;
  std::optional<Time> expected_start;
  std::optional<Time> expected_finish;
  std::optional<Time> earliest_deadline;  // that would be promised, whatever was asked for
  std::int64_t replanned = 0;             // other jobs that would be planned anew
};

// `curves` is what the core would be told before, because the job says so.
DryRunAnswer dry_run(schedule::State state, const schedule::CoreConfig& config, Time now,
                     const TrainingSpec& spec, const std::vector<CurveUpdated>& curves);

}  // namespace weir::control
