// SPDX-License-Identifier: Apache-2.0
//
// A line that must not be seen: from the terminal without echo, or from a pipe.
#pragma once

#include <string>
#include <string_view>

#include "domain/result.h"

namespace weir::cli {

// Asks on the terminal of standard input if it is one. Without blanks at its ends.
Result<std::string> read_secret(std::string_view question);

}  // namespace weir::cli
