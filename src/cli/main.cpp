// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/interrupts.h"
#include "cli/run.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  weir::cli::exit_on_interrupt();
  // SIGPIPE keeps its default: `weir ... | head` ends quietly.
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  weir::cli::Console console{std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1,
                             ::isatty(STDOUT_FILENO) == 1};
  return weir::cli::run(words, console);
}
