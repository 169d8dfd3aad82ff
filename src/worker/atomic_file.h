// SPDX-License-Identifier: Apache-2.0
//
// A file is there whole, or the one before it still is, whatever happens in between: written beside its
// place, synced, renamed, and the folder synced, because only within a file system is a change of name
// one step and the new name has to reach the disk too.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string_view>

#include "domain/result.h"

namespace weir::worker {

inline constexpr std::string_view kPartialSuffix = ".partial";

// An error also when `write` leaves its stream failed; what it throws passes through, and nothing is
// left behind.
[[nodiscard]] Result<bool> save_atomically(const std::filesystem::path& path,
                                           const std::function<void(std::ostream&)>& write);

}  // namespace weir::worker
