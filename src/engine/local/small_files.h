// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing files of a few kilobytes with system calls alone: the supervisor does it in
// its first millisecond, and files under /proc have no size. Links are not followed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::engine {

// Nothing when it cannot be opened; errno says why. `folder` may be AT_FDCWD.
std::optional<std::string> read_small_file(int folder, const char* name);
std::optional<std::string> read_small_file(const std::string& path);

// Writes a new file, or over an old one. 0 or errno.
int write_small_file(int folder, const char* name, std::string_view bytes);

// All of it, unless there is an error. 0 or errno.
int write_all(int fd, std::string_view bytes);

}  // namespace weir::engine
