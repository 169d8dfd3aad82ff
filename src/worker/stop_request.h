// SPDX-License-Identifier: Apache-2.0
//
// When to save, and when to leave. weir is about to change the GPUs of a job: it sends SIGTERM, and
// SIGKILL after the grace. The signal only leaves a note; the training loop finds it at the end of a
// step, saves and ends with kStoppedToBeResumed. SIGUSR1 asks for a checkpoint alone. Handlers that
// the program had set before are called as well.
//
//   StopRequest stop{{.save_every = 10min, .agree = largest_over_ranks}};
//   ...
//   if (stop.should_checkpoint()) {
//     save();
//     if (stop.should_leave()) return kStoppedToBeResumed;
//   }
//
// All ranks must stop at the same step, and signals do not reach them at the same one. `agree` takes the
// largest of an int over all ranks; every rank calls should_checkpoint() once a step, so the answer is
// the same everywhere. Without it each rank decides for itself, which is right for one rank only.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "domain/engine.h"

namespace weir::worker {

inline constexpr int kStoppedToBeResumed = kResumeCode;

class StopRequest {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::optional<Clock::duration> save_every;
    std::function<int(int)> agree;
    int agree_every = 1;  // calls from one agreement to the next, equal on all ranks, 1 or more
  };

  // Sets the handlers; the destructor gives the signals back. Requires: one at a time in a process.
  explicit StopRequest(Options options);
  StopRequest() : StopRequest{Options{}} {}
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;
  ~StopRequest();

  // Whether to save now. Once for each request. Call it once a step, on every rank.
  bool should_checkpoint() { return should_checkpoint(Clock::now()); }
  bool should_checkpoint(Clock::time_point now);
  // Whether, after the save, the process is to end: weir starts it again on its new GPUs.
  bool should_leave() const { return is_leaving_; }

 private:
  int own_wish(Clock::time_point now);

  Options options_;
  Clock::time_point saved_at_ = Clock::now();
  int calls_to_agreement_;
  int stops_seen_ = 0;
  int announcements_seen_ = 0;
  bool is_leaving_ = false;
};

}  // namespace weir::worker
