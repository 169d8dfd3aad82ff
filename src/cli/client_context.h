// SPDX-License-Identifier: Apache-2.0
//
// Which server a command talks to. In this order: `--server`, WEIR_SERVER, the context (`--context`,
// WEIR_CONTEXT, or the file's `current`), the last server of the default state folder
// (state_folder.h), and http://127.0.0.1:7070. Contexts stand in ~/.config/weir/config.yaml:
//
//   current: lab
//   contexts:
//     lab: {server: "http://127.0.0.1:7070", token_file: /srv/weir/token}
//
// The token: WEIR_TOKEN, the context's file, or the file `token` in the default state folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

inline constexpr std::string_view kDefaultServer = "http://127.0.0.1:7070";

struct ServerAddress {
  std::string url;
  std::string token;  // empty: none was found
};

// Requires: the command has the options below.
Result<ServerAddress> server_address(const OptionValues& options);

// `--server` and `--context`, for every command that talks to a server.
std::vector<OptionSpec> server_options();

}  // namespace weir::cli
