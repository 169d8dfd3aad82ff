// SPDX-License-Identifier: Apache-2.0
//
// An interpreter of Python that has done its imports and waits for a script: starting a rank from it
// costs a fork instead of seconds. Ranks made from it are children of this process like any others.
// The other half is warm_interpreter.py, which is part of this program.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/local/owned_fd.h"
#include "engine/local/rank_process.h"

namespace weir::engine {

class WarmInterpreter {
 public:
  // Begins to start it; the imports go on by themselves. Nothing when it could not be started.
  // Requires: this process adopts orphans (PR_SET_CHILD_SUBREAPER).
  static std::unique_ptr<WarmInterpreter> start(const std::string& program,
                                                const std::vector<std::string>& modules);

  // No process when the command is not of the kind that can be started so, or it did not answer.
  RankProcess start_rank(const RankStart& start);

  // No more ranks: it ends.
  void let_go() { control_.reset(); }

  // Whether a command could be: python3 [-u] SCRIPT ...
  static bool can_run(const std::vector<std::string>& command);

 private:
  OwnedFd control_;
};

}  // namespace weir::engine
