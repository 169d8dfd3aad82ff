// SPDX-License-Identifier: Apache-2.0
//
// Words of a command line, taken apart by the option table. CLI11 does the taking apart, and only
// this file knows it; what the words mean is checked by read_options.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "domain/diagnostics.h"
#include "domain/options.h"

namespace weir::cli {

struct ParsedWords {
  std::vector<GivenOption> options;
  Diagnostics mistakes;  // words that belong to no option
  bool wants_help = false;
};

// `words` are those after the command's name.
ParsedWords parse_command_line(const CommandSpec& command, std::span<const std::string> words);

}  // namespace weir::cli
