// SPDX-License-Identifier: Apache-2.0
//
// Sets the clocks of the GPUs that jobs hold, and reads what they have used: when a job gets GPUs, at
// each report of its progress, and when it gives them back, after which their clocks are free again.
// On a thread of its own: a driver may take its time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/worker_thread.h"
#include "domain/gpu_control.h"
#include "domain/ids.h"
#include "domain/time.h"

namespace weir::control {

// What is known of a job's GPUs, by the GPUs themselves.
struct GpuNews {
  JobId job;
  std::uint32_t generation = 0;
  // Of all GPUs that it held since this server was started; none: they have no counters.
  std::optional<double> joules;
  // Over the present hold at the present clock: mean power of all its GPUs.
  double watts = 0;
  Duration over{0};
  std::string clock_problem;  // why its clock could not be set; empty: it is, or was not asked for
};

class GpuKeeper {
 public:
  using Listener = std::function<void(const GpuNews&)>;
  using Clock = std::function<Duration()>;  // since any time

  // Requires: `gpus` outlives it. The listener is called on its thread.
  GpuKeeper(GpuControl& gpus, Listener listener, Clock clock);

  // The job has these from now on; none: it has none.
  void hold(JobId job, std::uint32_t generation, std::vector<GpuAddress> gpus);
  void set_clock(JobId job, std::int32_t permille);
  void read(JobId job);
  void release(JobId job);
  void stop() { worker_.stop(); }

 private:
  struct Held {
    std::uint32_t generation = 0;
    std::vector<GpuAddress> gpus;
    std::vector<double> began;  // joules of each, at the beginning; empty: no counters
    double before = 0;          // joules of earlier holds
    bool has_counted = false;   // in earlier holds
    bool is_limited = false;    // their clock is
    Duration since{0};          // of the present clock
    double joules_since = 0;    // of this hold, until then
    std::string clock_problem;
  };

  void begin(Held& held, std::vector<GpuAddress> gpus);
  void end(Held& held);
  std::optional<double> used(const Held& held);
  void tell(JobId job, const Held& held);

  GpuControl& gpus_;
  Listener listener_;
  Clock clock_;
  std::map<JobId, Held> held_;  // of the thread
  WorkerThread worker_{100'000};
};

}  // namespace weir::control
