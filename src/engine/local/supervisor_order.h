// SPDX-License-Identifier: Apache-2.0
//
// What the engine tells a supervisor, and itself after a restart, in the file `order`: strings that
// end in a zero byte. No string in it can hold one, because none can be given to a program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/local/run_token.h"
#include "engine/local/run_user.h"

namespace weir::engine {

struct SupervisorOrder {
  std::string store;
  RunKey run;
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> environment;  // on top of the supervisor's own
  std::string directory;                                         // of the ranks
  std::int32_t ranks = 1;
  std::vector<std::pair<std::uint64_t, std::int32_t>> gpus;  // node, number: for the engine
  bool is_torchrun = false;  // the one rank is torchrun and starts one for each GPU itself
  bool reports_progress = false;
  std::string progress_line;             // empty: it tells itself
  std::optional<std::int64_t> grace_ns;  // none: by what saving takes
  std::int64_t longest_save_ns = 0;      // as seen in generations before
  std::int64_t announce_ns = 0;          // 0: it is not announced
  std::optional<std::int64_t> hang_after_ns;
  std::vector<std::string> warm_start;  // modules
  std::int64_t ordered_ns = 0;          // by the steady clock of this machine
  std::int64_t memory_limit_bytes = 0;  // 0: none
  std::int64_t log_limit_bytes = 0;
  std::int64_t progress_interval_ns = 0;
  std::string engine_socket;    // abstract
  std::string cgroup;           // folder in which the run makes its own; empty: none
  std::optional<RunUser> user;  // of the ranks; none: the supervisor's own

  friend bool operator==(const SupervisorOrder&, const SupervisorOrder&) = default;
};

bool has_zero_byte(const SupervisorOrder& order);
// Requires: no string has a zero byte.
std::string encode(const SupervisorOrder& order);
// Nothing when it is not a whole order.
std::optional<SupervisorOrder> decode_supervisor_order(std::string_view bytes);

}  // namespace weir::engine
