// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's state as bytes, so that a start need not fold the whole log: everything a core
// needs to go on as if it had never stopped. A version byte in front, a checksum at the end; a job
// that is over takes three bytes.
#pragma once

#include <string>
#include <string_view>

#include "domain/result.h"
#include "schedule/core/state.h"

namespace weir::control {

// Empty when the state holds tasks that weir places itself: only states for training jobs, and of clusters that
// another scheduler runs, have a snapshot.
std::string write_snapshot(const schedule::State& state);

// `initial` is the state before the first record. An error when the bytes are damaged or were
// written for another cluster.
Result<schedule::State> read_snapshot(std::string_view bytes, const schedule::State& initial);

}  // namespace weir::control
