// SPDX-License-Identifier: Apache-2.0
//
// Starts one rank: its own process group, its output into a pipe, killed by the kernel when its
// supervisor dies. A rank with a user has that user's rights and groups, and can gain no others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/local/owned_fd.h"
#include "engine/local/run_user.h"

namespace weir::engine {

struct RankStart {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE, all of it
  std::string directory;
  std::int64_t memory_limit_bytes = 0;  // by RLIMIT_AS; 0: none
  int cgroup_procs = -1;                // file in which it enters itself first; -1: none
  bool keeps_output = true;             // otherwise nobody reads it
  int control = -1;                     // it gets this as descriptor 4; -1: none
  std::optional<RunUser> user{};        // none: as this process
};

struct RankProcess {
  pid_t pid = 0;  // 0: could not be started
  int error = 0;  // errno
  std::string explanation;
  OwnedFd output;  // to read from, without waiting
};

RankProcess start_rank(const RankStart& start);

// As exec wants them: ended by a null. Valid while the words are.
std::vector<char*> pointers_to(const std::vector<std::string>& words);

// `changes` over `inherited` (as in environ); a later entry of the same name wins. Names of
// `removed` are left out.
std::vector<std::string> merge_environment(
    const char* const* inherited, const std::vector<std::pair<std::string, std::string>>& changes,
    std::string_view removed);

}  // namespace weir::engine
