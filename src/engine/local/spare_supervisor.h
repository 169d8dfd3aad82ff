// SPDX-License-Identifier: Apache-2.0
//
// A supervisor that is started before there is a run for it, with an interpreter that does its imports
// meanwhile. It waits on its standard input, a socket of the engine, for the run; without one it ends
// when the engine does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::engine {

// What stands for the run's token in the environment of a spare, until it has one.
std::string room_for_token();

// In the engine: gives the spare at the other end a run. False when it is gone.
bool hand_over_run(int socket, const std::string& folder, std::string_view token, int lock);

// In the supervisor: its whole life. Returns its exit code, as supervise() does.
int wait_for_run(const std::string& program, const std::vector<std::string>& modules);

}  // namespace weir::engine
