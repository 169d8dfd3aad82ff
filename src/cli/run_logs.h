// SPDX-License-Identifier: Apache-2.0
//
// The record logs of a sweep of training runs: one file for each run.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/output_files.h"
#include "cli/training_setup.h"
#include "domain/options.h"
#include "domain/record.h"
#include "formats/record_log.h"
#include "simulate/training_sweep.h"

namespace weir::cli {

// The file of each run, in the sweep's order. One run alone has the path itself; several have the
// policy and, with several traces, the trace before the extension: run.jsonl becomes
// run.night.weir.jsonl. With several seeds the seed follows.
std::vector<std::filesystem::path> log_paths(const std::filesystem::path& path,
                                             const std::vector<TrainingWorkload>& workloads,
                                             const simulate::TrainingSweepConfig& config);

// What a log says before its records.
formats::RecordLogHeader log_header(const TrainingSetup& setup,
                                    const simulate::TrainingSweepConfig& config,
                                    const simulate::SweepPlace& place, const std::string& curves);

class RunLogs {
 public:
  RunLogs(const TrainingSetup& setup, const simulate::TrainingSweepConfig& config,
          const std::filesystem::path& path, const std::string& curves);

  // Each run writes to its own; different ones may be used on different threads.
  void write(std::size_t run, const Record& record) { logs_[run]->writer.write(record); }

  std::vector<OutputFile> take_files();

 private:
  struct Log {
    std::ostringstream text;
    formats::RecordLogWriter writer;
    explicit Log(std::string_view build) : writer{text, build} {}
  };
  std::vector<std::filesystem::path> paths_;
  std::vector<std::unique_ptr<Log>> logs_;
};

}  // namespace weir::cli
