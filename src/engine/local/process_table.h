// SPDX-License-Identifier: Apache-2.0
//
// What /proc says about processes. A process id alone means nothing after a while: the same number
// is given again. A process is the same one if it also started at the same time, on the same boot.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/local/run_token.h"

namespace weir::engine {

struct ProcessStat {
  char state = '?';  // 'Z': dead, but not waited for
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_time = 0;  // in clock ticks since the boot
  bool is_dead() const { return state == 'Z' || state == 'X'; }
};

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_time = 0;
  std::string boot_id;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

std::optional<ProcessStat> parse_process_stat(std::string_view line);
std::optional<ProcessStat> stat_of(pid_t pid);
const std::string& boot_id();
ProcessIdentity own_identity();

// The same process, and not dead.
bool is_alive(const ProcessIdentity& identity);

// The value of a variable in the environment the process was started with.
std::optional<std::string> started_with(pid_t pid, std::string_view variable);

// Living processes that belong to runs of this store. Supervisors are only those of this process' user:
// others may say of themselves what they like.
struct RunProcess {
  pid_t pid = 0;
  RunKey run;
  bool is_supervisor = false;
};
std::vector<RunProcess> find_run_processes(std::string_view store);

std::vector<pid_t> living_children(pid_t parent);

// Living children, grandchildren and so on of this process.
std::vector<pid_t> living_descendants();

}  // namespace weir::engine
