// SPDX-License-Identifier: Apache-2.0
#include "engine/local/spare_pool.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "engine/local/spare_supervisor.h"
#include "engine/local/warm_interpreter.h"

namespace weir::engine {

std::optional<SpareKind> spare_kind_of(const LaunchSpec& launch) {
  // A spare and its imports are the engine's user's: what another user names is not imported there.
  const bool is_ours = launch.ranks != Ranks::torchrun && launch.user.empty();
  if (launch.warm_start.empty() || !is_ours || !WarmInterpreter::can_run(launch.command))
    return std::nullopt;
  return SpareKind{launch.command.front(), launch.warm_start, launch.environment};
}

SparePool::~SparePool() {
  while (!spares_.empty()) {
    dismiss(std::move(spares_.front()));
    spares_.pop_front();
  }
}

// It ends when its socket does.
void SparePool::dismiss(Spare spare) {
  spare.socket.reset();
  waitpid(spare.pid, nullptr, 0);
}

pid_t SparePool::take(const SpareKind& kind, const std::string& folder, std::string_view token,
                      int lock) {
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Spare& spare) { return spare.kind == kind; });
  if (found == spares_.end()) return 0;
  Spare spare = std::move(*found);
  spares_.erase(found);
  if (hand_over_run(spare.socket.get(), folder, token, lock)) return spare.pid;
  dismiss(std::move(spare));
  return 0;
}

int SparePool::keep_ready(const SpareKind& kind) {
  const bool is_there = std::any_of(spares_.begin(), spares_.end(),
                                    [&](const Spare& spare) { return spare.kind == kind; });
  if (is_there || most_ == 0) return -1;
  if (spares_.size() >= most_) {
    dismiss(std::move(spares_.front()));
    spares_.pop_front();
  }
  auto launched = launcher_.launch_spare(kind.program, kind.modules, kind.environment);
  if (launched.pid == 0) return -1;
  OwnedFd pidfd{static_cast<int>(syscall(SYS_pidfd_open, launched.pid, 0))};
  const int watched = pidfd.get();
  spares_.push_back({kind, launched.pid, std::move(pidfd), std::move(launched.socket)});
  return watched;
}

void SparePool::retain(const std::function<bool(const SpareKind&)>& is_of_use) {
  std::deque<Spare> kept;
  for (Spare& spare : spares_) {
    if (is_of_use(spare.kind))
      kept.push_back(std::move(spare));
    else
      dismiss(std::move(spare));
  }
  spares_ = std::move(kept);
}

bool SparePool::on_readable(int fd) {
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const Spare& spare) { return spare.pidfd.get() == fd; });
  if (found == spares_.end()) return false;
  // An event for a spare that had the descriptor before is none for the one that has it now.
  if (waitpid(found->pid, nullptr, WNOHANG) != 0) spares_.erase(found);
  return true;
}

}  // namespace weir::engine
