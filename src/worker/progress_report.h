// SPDX-License-Identifier: Apache-2.0
//
// Tells weir how far the job is: one datagram {"step": 12, "samples": 1536, "loss": 0.5} to the unix
// socket in WEIR_PROGRESS. Training never waits for it and never fails because of it. Between two
// datagrams reports are kept back, the newest in place of the older ones; the last goes out when the
// reporter goes. For one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "worker/batch_plan.h"

namespace weir::worker {

struct Progress {
  std::int64_t step = 0;
  std::optional<std::int64_t> samples;
  std::optional<double> loss;
  std::optional<BatchPlan> batch;  // how the global batch is divided
};

// A line of JSON. A loss that is no finite number is left out: JSON has no word for it.
std::string encode(const Progress& progress);

// From these weir learns what a change of GPUs costs, and how long a save may take.
enum class Milestone : std::uint8_t {
  started,  // the program is about to prepare: libraries are loaded
  loaded,   // it has its checkpoint, or there is none
  saved,    // a checkpoint is written
};
std::string encode(Milestone milestone, std::optional<std::chrono::nanoseconds> took);

class ProgressReporter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostPerSecond = 10;

  // "@" at the front of the address stands for the zero byte of an abstract name. Without an address,
  // or on another rank than 0, it sends nothing. Requires: most_per_second >= 1.
  explicit ProgressReporter(std::string address, std::int64_t rank = 0,
                            int most_per_second = kMostPerSecond);
  // From WEIR_PROGRESS and RANK: outside weir it sends nothing.
  static ProgressReporter from_environment();

  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;
  ~ProgressReporter();

  // Notes how far the job is; sends it if it is time to. Never waits.
  void report(const Progress& progress) { report(progress, Clock::now()); }
  void report(const Progress& progress, Clock::time_point now);
  // Tells at once that something has happened. Never waits.
  void tell(Milestone milestone, std::optional<std::chrono::nanoseconds> took = std::nullopt);
  // Sends what was kept back. For the end: waits a moment if the receiver is busy.
  void flush();

 private:
  // Whether nothing is left to send. A receiver that is busy gets it later; one that is gone, never.
  bool send();
  int send_message(const std::string& message);  // 0 or errno

  std::string address_;
  Clock::duration pause_;
  Clock::time_point next_at_ = Clock::time_point::min();
  std::optional<Progress> kept_;
  int socket_ = -1;
};

}  // namespace weir::worker
