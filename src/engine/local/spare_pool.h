// SPDX-License-Identifier: Apache-2.0
//
// A few supervisors without a run, each with an interpreter that has imported what the next start of a
// job needs. One kind serves all jobs with the same program, modules and environment.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "domain/engine.h"
#include "engine/local/owned_fd.h"
#include "engine/local/supervisor_launcher.h"

namespace weir::engine {

struct SpareKind {
  std::string program;
  std::vector<std::string> modules;
  std::vector<std::pair<std::string, std::string>> environment;
  friend bool operator==(const SpareKind&, const SpareKind&) = default;
};

// Nothing for a job that is not to be started so, or cannot be.
std::optional<SpareKind> spare_kind_of(const LaunchSpec& launch);

class SparePool {
 public:
  // Requires: the launcher outlives it.
  SparePool(const SupervisorLauncher& launcher, std::size_t most)
      : launcher_{launcher}, most_{most} {}
  ~SparePool();
  SparePool(const SparePool&) = delete;
  SparePool& operator=(const SparePool&) = delete;

  // Gives the run to a spare, whose process it is from then on. 0: there is none.
  pid_t take(const SpareKind& kind, const std::string& folder, std::string_view token, int lock);

  // Sees to it that there is one of this kind; another kind that has waited longest makes room. Returns
  // a descriptor to watch for its end, or -1.
  int keep_ready(const SpareKind& kind);
  bool empty() const { return spares_.empty(); }
  void retain(const std::function<bool(const SpareKind&)>& is_of_use);

  // A descriptor of keep_ready became readable. False when it is not one of a spare.
  bool on_readable(int fd);

 private:
  struct Spare {
    SpareKind kind;
    pid_t pid = 0;
    OwnedFd pidfd;
    OwnedFd socket;
  };
  static void dismiss(Spare spare);

  const SupervisorLauncher& launcher_;
  std::size_t most_;
  std::deque<Spare> spares_;  // the oldest first
};

}  // namespace weir::engine
