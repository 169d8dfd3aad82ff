// SPDX-License-Identifier: Apache-2.0
//
// Looks after one run from its first process to its last, whatever happens to the engine: starts the
// ranks, keeps their output, hears their progress, ends all of them when one fails or when told to
// (SIGTERM), and notes how it went. It leaves only when no descendant is left.
#pragma once

#include <memory>

namespace weir::engine {

class WarmInterpreter;

// The descriptor on which the supervisor is given the job's lock. Its ranks inherit it.
inline constexpr int kLockDescriptor = 3;

// The whole life of a supervisor process; `folder` is the run's own. Returns its exit code: 0, or
// the errno that kept it from beginning at all.
// Requires: SIGTERM and SIGCHLD are blocked, this process leads its session and has one thread.
int supervise(const char* folder);
// The same, with an interpreter that may start the ranks, or none.
int supervise(const char* folder, std::unique_ptr<WarmInterpreter> warm);

}  // namespace weir::engine
