// SPDX-License-Identifier: Apache-2.0
#include "cli/run_job_wakeup.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace weir::cli {

RunWakeup::RunWakeup() {
  sigemptyset(&held_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held_, signal);
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
  signals_ = engine::OwnedFd{signalfd(-1, &held_, SFD_CLOEXEC | SFD_NONBLOCK)};
  wake_ = engine::OwnedFd{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
}

RunWakeup::~RunWakeup() {
  while (take_signal()) {  // one more Ctrl-C after the end must not change the exit code
  }
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void RunWakeup::on_report(const RunReport& report) {
  const std::lock_guard guard{mutex_};
  reports_.push_back(report);
  eventfd_write(wake_.get(), 1);
}

void RunWakeup::wait(Duration longest) {
  std::array<pollfd, 2> watched{{{signals_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  const auto timeout = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  poll(watched.data(), watched.size(),
       static_cast<int>(std::clamp<std::int64_t>(timeout, 0, 1000)));
}

std::vector<RunReport> RunWakeup::take_reports() {
  const std::lock_guard guard{mutex_};
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
  return std::exchange(reports_, {});
}

std::optional<int> RunWakeup::take_signal() {
  signalfd_siginfo info{};
  if (read(signals_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace weir::cli
