// SPDX-License-Identifier: Apache-2.0
//
// Opens a link with a secret in it. Everybody on the machine can read the command line of every process, so the
// browser is given a file that leads to the link, and only its owner may read that.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace weir::cli {

// With xdg-open, which goes on by itself. The error is the reason why not: "there is no display here".
tl::expected<void, std::string> open_in_browser(const std::string& link);

// A page that leads to the link at once.
std::string page_leading_to(const std::string& link);

}  // namespace weir::cli
