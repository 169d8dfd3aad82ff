// SPDX-License-Identifier: Apache-2.0
#include "engine/local/supervisor_launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "engine/local/rank_process.h"
#include "engine/local/run_token.h"
#include "engine/local/spare_supervisor.h"
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
  std::vector<std::string> environment = environment_;
  environment.push_back(std::string{kSupervisorVariable} + "=" + std::string{token});
  return spawn({"weir-supervisor", folder}, std::move(environment), {.lock = lock});
}

SupervisorLauncher::LaunchedSpare SupervisorLauncher::launch_spare(
    const std::string& program, const std::vector<std::string>& modules,
    const std::vector<std::pair<std::string, std::string>>& environment) const {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return {};
  OwnedFd ours{sockets[0]};
  const OwnedFd theirs{sockets[1]};
  std::vector<const char*> inherited;
  for (const std::string& entry : environment_) inherited.push_back(entry.c_str());
  inherited.push_back(nullptr);
  auto changes = environment;
  changes.emplace_back(kSupervisorVariable, room_for_token());
  std::vector<std::string> arguments{"weir-supervisor", "--spare", program};
  arguments.insert(arguments.end(), modules.begin(), modules.end());
  const Launched launched =
      spawn(std::move(arguments), merge_environment(inherited.data(), changes, ""),
            {.input = theirs.get()});
  return {launched.pid, std::move(ours)};
}

SupervisorLauncher::Launched SupervisorLauncher::spawn(std::vector<std::string> arguments,
                                                       std::vector<std::string> environment,
                                                       Descriptors descriptors) const {
  SpawnSettings settings;
  if (descriptors.lock >= 0)
    posix_spawn_file_actions_adddup2(&settings.files, descriptors.lock, kLockDescriptor);
  if (descriptors.input >= 0)
    posix_spawn_file_actions_adddup2(&settings.files, descriptors.input, 0);
  else
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

  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  Launched launched;
  launched.error =
      posix_spawn(&launched.pid, program_.c_str(), &settings.files, &settings.attributes,
                  argument_pointers.data(), environment_pointers.data());
  if (launched.error != 0) launched.pid = 0;
  return launched;
}

}  // namespace weir::engine
