// SPDX-License-Identifier: Apache-2.0
//
// How a rank's end is told to people.
#pragma once

#include <cstdint>

#include "domain/engine.h"

namespace weir::engine {

// `wait_status` as waitpid gives it. `ranks` of the run: the rank is named when there are several.
RunEnded explain_exit(int wait_status, std::int32_t rank, std::int32_t ranks,
                      bool is_out_of_memory);

// "SIGSEGV (signal 11)"
std::string signal_text(int signal);

}  // namespace weir::engine
