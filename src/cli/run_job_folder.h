// SPDX-License-Identifier: Apache-2.0
//
// Where `weir run` keeps the state, the logs and the checkpoints of its job: a folder that the user
// names and that stays, or one of its own that goes with it. It knows of the engine's folder only
// what engine/local/local_engine.h says.
#pragma once

#include <cstdint>
#include <filesystem>

#include "domain/engine.h"
#include "domain/result.h"

namespace weir::cli {

class RunFolder {
 public:
  // Empty: a temporary one.
  static Result<RunFolder> make(const std::filesystem::path& kept);
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  bool is_kept() const { return is_kept_; }

  // Higher than that of any earlier run in this folder.
  std::uint32_t next_generation(JobId job) const;
  // At once, without the request to stop. The engine sees to what is left of it.
  void kill(JobId job) const;

 private:
  RunFolder(std::filesystem::path path, bool is_kept) : path_{std::move(path)}, is_kept_{is_kept} {}

  std::filesystem::path path_;
  bool is_kept_;
};

}  // namespace weir::cli
