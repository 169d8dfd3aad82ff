// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_folder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "engine/local/owned_fd.h"
#include "engine/local/process_table.h"
#include "engine/local/run_token.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> unusable(const fs::path& folder, int error) {
  return bad_input(
      Diagnostic{folder.string(), 0, "--keep", std::strerror(error), "a folder that can be made"});
}

}  // namespace

Result<RunFolder> RunFolder::make(const fs::path& kept) {
  std::error_code error;
  if (!kept.empty()) {
    fs::create_directories(kept, error);
    if (error) return unusable(kept, error.value());
    return RunFolder{fs::absolute(kept), true};
  }
  std::string pattern = (fs::temp_directory_path(error) / "weir-run-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return unusable(pattern, errno);
  return RunFolder{pattern, false};
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_{std::exchange(other.path_, {})}, is_kept_{other.is_kept_} {}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!is_kept_ && !path_.empty()) fs::remove_all(path_, ignored);
}

std::uint32_t RunFolder::next_generation(JobId job) const {
  std::uint32_t latest = 0;
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator{path_ / "runs" / std::to_string(job.value), ignored}) {
    const std::string name = entry.path().filename().string();
    latest = std::max(latest, engine::parse_number<std::uint32_t>(name).value_or(0));
  }
  return latest + 1;
}

void RunFolder::kill(JobId job) const {
  std::string store;
  std::ifstream{path_ / "id"} >> store;
  if (store.empty()) return;
  for (const engine::RunProcess& process : engine::find_run_processes(store)) {
    if (!process.is_supervisor || process.run.job != job.value) continue;
    const engine::OwnedFd pidfd{static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0))};
    // The number may have been given to another process since it was looked at.
    const bool is_it = pidfd && engine::started_with(process.pid, engine::kSupervisorVariable) ==
                                    engine::run_token(store, process.run);
    if (is_it) syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
}

}  // namespace weir::cli
