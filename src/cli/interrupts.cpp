// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupts.h"

#include <pthread.h>
#include <unistd.h>

#include <string_view>

#include "domain/result.h"

namespace weir::cli {
namespace {

// Only what is allowed in a signal handler: write and _exit.
extern "C" void on_interrupt(int) {
  constexpr std::string_view kMessage = "\nweir: interrupted\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(static_cast<int>(ExitCode::interrupted));
}

std::atomic<bool> noted_interrupt{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch no other");

extern "C" void on_first_interrupt(int signal) {
  if (noted_interrupt.exchange(true)) on_interrupt(signal);
}

}  // namespace

void exit_on_interrupt() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

HoldInterrupts::HoldInterrupts() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

HoldInterrupts::~HoldInterrupts() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

CatchInterrupt::CatchInterrupt() {
  noted_interrupt = false;
  struct sigaction action {};
  action.sa_handler = on_first_interrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &before_);
}

CatchInterrupt::~CatchInterrupt() {
  sigaction(SIGINT, &before_, nullptr);
}

const std::atomic<bool>& CatchInterrupt::is_interrupted() const {
  return noted_interrupt;
}

}  // namespace weir::cli
