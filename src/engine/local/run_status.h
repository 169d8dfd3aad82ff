// SPDX-License-Identifier: Apache-2.0
//
// What a supervisor notes about its run in the file `status`: one short line for each thing that
// happened, each written at once, so that whoever reads sees whole lines. Nothing is forced to disk:
// if the machine dies, so do the processes, and the boot id tells.
//
//   identity PID START_TIME BOOT_ID
//   ready
//   saved NANOSECONDS                 longer than any save before
//   ended KIND CODE EXPLANATION
//   stopped ANNOUNCE SAVE STOP        what took how long, in nanoseconds
//
// How far the job is changes often and stands in a file of its own, `progress`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/engine.h"
#include "engine/local/owned_fd.h"
#include "engine/local/process_table.h"

namespace weir::engine {

struct RunStatus {
  std::optional<ProcessIdentity> supervisor;
  bool is_ready = false;
  bool is_stopped = false;        // because it was told to
  std::optional<RunEnded> ended;  // by itself
  std::int64_t progress = -1;     // -1: it never said
  Duration longest_save{};
  ChangeTimes stop;  // announce, save and stop
  bool is_over() const { return is_stopped || ended.has_value(); }
};

// Lines that make no sense, and a last one that is not whole, count for nothing.
RunStatus parse_run_status(std::string_view lines);
// `folder` is the run's own. A file that is not there is empty.
RunStatus read_run_status(int folder);

class RunStatusWriter {
 public:
  // Reserves the space for all lines, so that a disk that fills up later costs no end. 0 or errno.
  int open(int folder);
  int note_identity(const ProcessIdentity& identity);
  int note_ready();
  int note_ended(const RunEnded& end);
  int note_saved(Duration took);
  int note_stopped(const ChangeTimes& times);
  void note_progress(std::int64_t iterations);

 private:
  OwnedFd status_;
  OwnedFd progress_;
  int folder_ = -1;
};

}  // namespace weir::engine
