// SPDX-License-Identifier: Apache-2.0
//
// The first line of a live server's log: its cluster, policy and rules, so that the log can be decided again.
#pragma once

#include <string>
#include <string_view>

#include "control/controller.h"

namespace weir::cli {

// Without its newline. Of a cluster that another scheduler runs.
std::string observed_log_header();

// `curves`: where they were read from; may be empty. `reserve`: as it was written.
std::string live_log_header(const control::ControllerConfig& config, std::string_view curves,
                            std::string_view reserve);

}  // namespace weir::cli
