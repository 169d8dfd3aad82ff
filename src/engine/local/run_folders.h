// SPDX-License-Identifier: Apache-2.0
//
// The engine's folder on disk (its layout is in local_engine.h). Names are made from numbers, and
// every step of a path is opened without following links, so nothing outside can be reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/engine.h"
#include "engine/local/owned_fd.h"
#include "engine/local/run_token.h"
#include "engine/local/supervisor_order.h"

namespace weir::engine {

class RunFolders {
 public:
  // Makes what is missing. Fails when another engine has the folder open.
  static Result<std::unique_ptr<RunFolders>> open(const std::filesystem::path& folder);

  // Names this folder among all: in the environment of its processes, and in socket names.
  const std::string& store() const { return store_; }
  std::string path_of(RunKey run) const;
  // Where ranks are that were given no directory: apart from our files, which they might clear away.
  std::string work_path(RunKey run) const;
  std::string checkpoint_path(std::uint64_t job) const;

  // Jobs that were not forgotten, and the generation of each that has an order (0: none).
  struct Known {
    std::uint64_t job = 0;
    std::uint32_t generation = 0;
  };
  std::vector<Known> known_jobs() const;
  bool was_forgotten(std::uint64_t job) const;

  // The lock that all processes of a job hold; makes the job's folder. No descriptor: errno, which
  // is EWOULDBLOCK while a process of the job lives.
  struct Lock {
    OwnedFd fd;
    int error = 0;
  };
  Lock try_lock(std::uint64_t job) const;

  // Makes the run's folder with the order in it, and its work folder if the order names that; older
  // generations keep only their logs. What a user of its own works in belongs to that user, who can pass
  // through the folders above.
  // Requires: the job's lock is held. 0 or errno.
  int write_order(const SupervisorOrder& order) const;
  std::optional<SupervisorOrder> read_order(RunKey run) const;
  void remove_order(RunKey run) const;
  // No descriptor: there is no such run. Looks among forgotten jobs as well.
  OwnedFd open_run(RunKey run) const;

  void forget(std::uint64_t job) const;
  void remove(std::uint64_t job) const;

  Result<LogChunk> read_log(const LogPlace& place, std::size_t most_bytes) const;

 private:
  OwnedFd open_job(std::uint64_t job) const;
  std::optional<std::uint32_t> latest_with_log(int job_folder) const;

  std::filesystem::path path_;
  OwnedFd root_;
  OwnedFd runs_;
  OwnedFd past_;
  OwnedFd engine_lock_;
  std::string store_;
};

}  // namespace weir::engine
