// SPDX-License-Identifier: Apache-2.0
//
// Which server a command talks to. In this order: `--server`, WEIR_SERVER, the context that is named
// (`--context`, WEIR_CONTEXT), that of `weir login` (login_file.h; not when WEIR_STATE is set), the
// context file's `current`, the last server of the default state folder
// (state_folder.h), and http://127.0.0.1:7070. Contexts stand in ~/.config/weir/config.yaml:
//
//   current: lab
//   contexts:
//     lab: {server: "http://127.0.0.1:7070", token_file: /srv/weir/token}
//     far: {server: "https://gpu.example.org:7070", ca_file: /srv/weir/ca.pem}
//
// A server with TLS is trusted if the system does, or by `ca_file` (`--ca-file`, WEIR_CA_FILE), or by the
// `fingerprint` of its key; that of the default state folder, by the certificate it made there.
//
// The token: WEIR_TOKEN, the login's if it is that server, the context's file, or the file `token` in the default state folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "domain/options.h"
#include "domain/result.h"
#include "transport/http_client.h"

namespace weir::cli {

inline constexpr std::string_view kDefaultServer = "http://127.0.0.1:7070";

struct ServerAddress {
  std::string url;
  std::string token;  // empty: none was found
  transport::HttpTls tls;
};

// Requires: the command has the options below.
Result<ServerAddress> server_address(const OptionValues& options);

// The token in a file that somebody named.
Result<std::string> read_token_file(const std::filesystem::path& file);
// Certificates to trust, as PEM.
Result<std::string> read_authorities(const std::filesystem::path& file);

transport::HttpClient client_of(ServerAddress address);

// `--server`, `--context` and `--ca-file`, for every command that talks to a server.
std::vector<OptionSpec> server_options();

}  // namespace weir::cli
