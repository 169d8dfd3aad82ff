// SPDX-License-Identifier: Apache-2.0
//
// Ctrl-C ends weir at once with exit code 130, except while files are being written, and in a search, which
// then prints what it has.
#pragma once

#include <atomic>
#include <csignal>

namespace weir::cli {

// From now on SIGINT ends the process with exit code 130. For main(): tests do without.
void exit_on_interrupt();

// While it lives, SIGINT and SIGTERM wait. Requires: no other thread runs.
class HoldInterrupts {
 public:
  HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;
  ~HoldInterrupts();

 private:
  sigset_t before_;
};

// While it lives, the first SIGINT is only noted; a second one ends the process with exit code 130.
// Requires: one at a time.
class CatchInterrupt {
 public:
  CatchInterrupt();
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;
  ~CatchInterrupt();

  const std::atomic<bool>& is_interrupted() const;

 private:
  struct sigaction before_;
};

}  // namespace weir::cli
