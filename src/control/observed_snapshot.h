// SPDX-License-Identifier: Apache-2.0
//
// The part of a snapshot that holds the nodes and tasks of a cluster another scheduler runs. What is free on a node is not
// written: it follows from what runs there.
#pragma once

#include <string>
#include <string_view>

#include "schedule/core/state.h"

namespace weir::control {

// Whether all of the state can be written: tasks of one replica, no training pools.
bool is_observed_state(const schedule::State& state);

// Requires: is_observed_state.
std::string write_observed(const schedule::State& state);

// Adds them to a state that has none. False when the bytes do not fit together.
bool read_observed(std::string_view bytes, schedule::State& state);

}  // namespace weir::control
