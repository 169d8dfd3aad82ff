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
  ~RunningServer();  // kill -9

  std::uint16_t port() const { return port_; }
  std::string authorization() const;                       // a header line, with its end
  double start_seconds() const { return start_seconds_; }  // from the exec to the first answer
  double resident_mib() const;
  double cpu_seconds() const;
  void kill_now();

 private:
  RunningServer() = default;
  int pid_ = -1;
  std::uint16_t port_ = 0;
  std::string token_;
  double start_seconds_ = 0;
};

}  // namespace weir::bench
