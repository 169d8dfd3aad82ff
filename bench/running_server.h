// SPDX-License-Identifier: Apache-2.0
//
// The real `weir serve` as a child process, on a free port, for benchmarks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "domain/result.h"

namespace weir::bench {

class RunningServer {
 public:
  // Returns when it answers. `program` is the weir program; its log goes to STATE.log.
  static Result<RunningServer> start(const std::filesystem::path& program,
                                     const std::filesystem::path& state,
                                     const std::vector<std::string>& options);
  RunningServer(RunningServer&& other) noexcept;
  RunningServer& operator=(RunningServer&&) = delete;
  ~RunningServer();  // kill -9, and the jobs with it

  int pid() const { return pid_; }

  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }
  std::string authorization() const;                       // a header line, with its end
  double start_seconds() const { return start_seconds_; }  // from the exec to the first answer
  double resident_mib() const;
  double cpu_seconds() const;           // its own
  double children_cpu_seconds() const;  // of supervisors and jobs that it has waited for
  long descriptors() const;
  long threads() const;
  void kill_now();  // its jobs go on, as they must

  // Supervisors and jobs that belong to its state folder, whoever their parent is.
  std::vector<int> job_processes() const;
  void end_jobs() const;

 private:
  RunningServer() = default;
  std::vector<double> stat_fields() const;
  int pid_ = -1;
  std::filesystem::path state_;
  std::uint16_t port_ = 0;
  std::string token_;
  double start_seconds_ = 0;
};

}  // namespace weir::bench
