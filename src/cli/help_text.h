// SPDX-License-Identifier: Apache-2.0
//
// Help and reference, made from the option table.
#pragma once

#include <string>

#include "domain/options.h"

namespace weir::cli {

// `weir help`: what weir is for, a first command to try, all commands.
std::string program_help();

// `weir trace --help`: the commands that begin with it.
std::string group_help(const std::string& group);

// `weir simulate --help`: what it is for, examples, every option.
std::string command_help(const CommandSpec& command);

// All commands and options as Markdown.
std::string reference_page();

}  // namespace weir::cli
