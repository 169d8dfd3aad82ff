// SPDX-License-Identifier: Apache-2.0
//
// Starts supervisor processes. The server has many threads and much memory, so nothing of it is
// copied, and nothing of it is left open in the supervisor but the job's lock.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/local/owned_fd.h"

namespace weir::engine {

class SupervisorLauncher {
 public:
  // Remembers the environment of this program as it is now.
  explicit SupervisorLauncher(std::string program);

  struct Launched {
    pid_t pid = 0;
    int error = 0;  // errno; the process was not started
  };
  // `token` names the run, `lock` is the job's, `folder` the run's.
  Launched launch(const std::string& folder, std::string_view token, int lock) const;

  // One without a run yet, which has `program` import the modules, in this environment beside our own.
  struct LaunchedSpare {
    pid_t pid = 0;  // 0: not started
    OwnedFd socket;
  };
  LaunchedSpare launch_spare(
      const std::string& program, const std::vector<std::string>& modules,
      const std::vector<std::pair<std::string, std::string>>& environment) const;

  const std::string& program() const { return program_; }

 private:
  struct Descriptors {
    int input = -1;  // -1: nothing to read
    int lock = -1;   // -1: none
  };
  Launched spawn(std::vector<std::string> arguments, std::vector<std::string> environment,
                 Descriptors descriptors) const;

  std::string program_;
  std::vector<std::string> environment_;
};

}  // namespace weir::engine
