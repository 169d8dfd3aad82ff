// SPDX-License-Identifier: Apache-2.0
#include "engine/local/run_end.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace weir::engine {

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const std::string number = std::to_string(signal);
  return name == nullptr ? "signal " + number
                         : std::string{"SIG"} + name + " (signal " + number + ")";
}

RunEnded explain_exit(int wait_status, std::int32_t rank, std::int32_t ranks,
                      bool is_out_of_memory) {
  const std::string where = ranks > 1 ? " in rank " + std::to_string(rank) : "";
  if (WIFEXITED(wait_status)) {
    const int code = WEXITSTATUS(wait_status);
    const std::string meaning = code == kResumeCode ? ": it has saved and is to be resumed" : "";
    return {RunEndKind::exited, code,
            "exit code " + std::to_string(code) + (code ? where : "") + meaning};
  }
  const int signal = WTERMSIG(wait_status);
  if (is_out_of_memory)
    return {RunEndKind::out_of_memory, signal, "killed for using more than its memory" + where};
  std::string explanation = "killed by " + signal_text(signal) + where;
  if (signal == SIGKILL)
    explanation += "; nothing in weir sent it, the kernel does when memory runs out";
  return {RunEndKind::signalled, signal, explanation};
}

}  // namespace weir::engine
