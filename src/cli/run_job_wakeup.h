// SPDX-License-Identifier: Apache-2.0
//
// What `weir run` waits for: reports of the engine, and SIGINT, SIGTERM and SIGHUP, which end nothing
// while it lives. Neither does a reader of our output that went away: the job is stopped first.
// Requires: made before other threads, which inherit what is held back.
#pragma once

#include <csignal>
#include <mutex>
#include <optional>
#include <vector>

#include "domain/engine.h"
#include "domain/time.h"
#include "engine/local/owned_fd.h"

namespace weir::cli {

class RunWakeup final : public EngineListener {
 public:
  RunWakeup();
  RunWakeup(const RunWakeup&) = delete;
  RunWakeup& operator=(const RunWakeup&) = delete;
  ~RunWakeup() override;

  void on_report(const RunReport& report) override;

  // Until there is something, or so long.
  void wait(Duration longest);
  std::vector<RunReport> take_reports();
  std::optional<int> take_signal();

 private:
  sigset_t held_{};
  sigset_t before_{};
  struct sigaction pipe_before_ {};
  engine::OwnedFd signals_;
  engine::OwnedFd wake_;
  std::mutex mutex_;
  std::vector<RunReport> reports_;
};

}  // namespace weir::cli
