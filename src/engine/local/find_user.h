// SPDX-License-Identifier: Apache-2.0
//
// Users of this machine, as its own database has them. Apart from run_user.h: a supervisor is linked
// statically and cannot ask it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "engine/local/run_user.h"

namespace weir::engine {

// Nothing when there is no such user; errno is 0, or says why nobody knows.
std::optional<RunUser> find_user(const std::string& name);

// Tried in a process of that user. Requires: this process is root's.
bool can_enter(const RunUser& user, const std::filesystem::path& folder);

}  // namespace weir::engine
