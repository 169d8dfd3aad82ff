// SPDX-License-Identifier: Apache-2.0
//
// Control groups (version 2), where this program may make some: they hold all processes of a run
// together, limit its memory, and say when that was exceeded. Elsewhere process groups, RLIMIT_AS
// and the supervisor's search for descendants have to do.
#pragma once

#include <cstdint>
#include <string>

#include "engine/local/owned_fd.h"

namespace weir::engine {

struct CgroupSupport {
  std::string folder;  // in which runs make theirs; empty: not available
  std::string reason;  // why not, for people
};

// Takes this program's own group, if it was handed over to it (it may write there, the memory
// controller is there, and no other program is in it), and moves this program into a leaf of it.
CgroupSupport find_cgroup();

// One run's group. Without a folder nothing is done.
class RunCgroup {
 public:
  // 0 or errno.
  int open(const std::string& folder, const std::string& name, std::int64_t memory_limit_bytes);
  // The file a rank enters itself in; -1 without a group.
  int procs() const { return procs_.get(); }
  bool had_out_of_memory() const;
  void kill_all();
  // Once it is empty.
  void remove();

 private:
  std::string path_;
  OwnedFd procs_;
};

}  // namespace weir::engine
