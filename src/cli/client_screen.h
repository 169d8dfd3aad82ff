// SPDX-License-Identifier: Apache-2.0
//
// Text that is drawn again and again on a terminal, and once anywhere else.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "cli/console.h"
#include "domain/result.h"

namespace weir::cli {

// Until Ctrl-C, or until `text` fails. It gets the screen's height in lines; 0 means any.
Result<void> show_live(const std::function<Result<std::string>(std::size_t lines)>& text,
                       std::chrono::milliseconds interval, Console& console);

}  // namespace weir::cli
