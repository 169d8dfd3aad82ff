// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's state from the store: the latest good snapshot, and the records after it folded
// over it. Nothing is decided again.
#pragma once

#include "control/sqlite.h"
#include "control/store.h"
#include "control/store_check.h"

namespace weir::control {

// Whether evolve() can take the record: the job, pool and node it names are there.
bool fits(const schedule::State& state, const Record& record);

// Everything of a Recovery but the clock and the damage found at the start.
Result<Recovery> recover_state(SqliteConnection& connection, schedule::State initial,
                               const LogEnds& ends);

}  // namespace weir::control
