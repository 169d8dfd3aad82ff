// SPDX-License-Identifier: Apache-2.0
#include "engine/local/supervisor_launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "engine/local/rank_process.h"
#include "engine/local/run_token.h"
#include "engine/local/supervisor.h"

namespace weir::engine {
namespace {

struct SpawnSettings {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};

  SpawnSettings() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

}  // namespace

SupervisorLauncher::SupervisorLauncher(std::string program)
    : program_{std::move(program)},
      environment_{merge_environment(environ, {}, kSupervisorVariable)} {}

SupervisorLauncher::Launched SupervisorLauncher::launch(const std::string& folder,
                                                        std::string_view token, int lock) const {
  SpawnSettings settings;
  posix_spawn_file_actions_adddup2(&settings.files, lock, kLockDescriptor);
  posix_spawn_file_actions_addopen(&settings.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&settings.files, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.files, 1, 2);

  // A request to stop that comes before the supervisor listens must wait, not kill it.
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGCHLD);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&settings.attributes, &blocked);
  posix_spawnattr_setsigdefault(&settings.attributes, &all);
  posix_spawnattr_setflags(
      &settings.attributes,
      static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));

  std::string name = "weir-supervisor";
  std::string folder_copy = folder;
  char* arguments[] = {name.data(), folder_copy.data(), nullptr};
  std::string variable = std::string{kSupervisorVariable} + "=" + std::string{token};
  std::vector<char*> environment;
  environment.reserve(environment_.size() + 2);
  for (const std::string& entry : environment_)
    environment.push_back(const_cast<char*>(entry.c_str()));
  environment.push_back(variable.data());
  environment.push_back(nullptr);

  Launched launched;
  launched.error = posix_spawn(&launched.pid, program_.c_str(), &settings.files,
                               &settings.attributes, arguments, environment.data());
  if (launched.error != 0) launched.pid = 0;
  return launched;
}

}  // namespace weir::engine
