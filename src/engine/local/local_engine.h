// SPDX-License-Identifier: Apache-2.0
//
// Runs jobs as processes of this machine. The program that holds the engine may die at any moment:
// each run has a small supervisor process of its own that goes on, keeps the logs, and leaves a note
// of how the run ended. An engine made again on the same folder finds the supervisors and the notes.
//
// Folder, all names are numbers or fixed words:
//   id                            recognises the processes of this folder
//   runs/JOB/lock                 held by every process of the job, so that it never runs twice
//   runs/JOB/checkpoint/          the job's own; survives its generations
//   runs/JOB/GENERATION/order     what the supervisor was told to run
//   runs/JOB/GENERATION/status    what it saw
//   runs/JOB/GENERATION/rank-R.OFFSET.log
//   runs/JOB/GENERATION/folder/   where ranks are that were given no directory
//   past/JOB/                     the same, after the engine was told to forget the job
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "domain/engine.h"

namespace weir::engine {

struct LocalEngineOptions {
  std::filesystem::path folder;      // made if missing; one engine at a time
  std::filesystem::path supervisor;  // empty: weir-supervisor beside this program
  std::vector<std::string>
      gpu_uuids;  // of real GPUs, in the order of their numbers; empty: numbers
  std::int64_t log_limit_bytes = 16 << 20;  // of one file of one rank; one older file is kept
  Duration progress_interval = std::chrono::milliseconds{100};  // at most one report in this time
  Duration stuck_after = from_seconds(10);  // past its job's grace, a supervisor is killed
  std::size_t most_spares = 2;              // interpreters that wait with their imports done
  std::size_t most_starting = 0;  // jobs that have not made a step yet; 0: two for each core
};

class LocalEngine : public Engine {
 public:
  // For people: how processes are held together here, "cgroup v2 at ..." or "process groups, ...".
  virtual std::string describe() const = 0;
};

// Fails when the folder cannot be used, another engine uses it, or there is no supervisor program.
// Requires: stop() and the destructor are not called from the listener.
Result<std::unique_ptr<LocalEngine>> make_local_engine(LocalEngineOptions options);

}  // namespace weir::engine
