// SPDX-License-Identifier: Apache-2.0
//
// What `weir login` keeps, for its owner only: a server, the token for it and whom to trust. In
// ~/.config/weir/login.yaml (or $XDG_CONFIG_HOME/weir/login.yaml):
//
//   server: "https://gpu1:7070"
//   token: "..."
//   fingerprint: "sha256//..."     # or ca_file; neither: what the system trusts
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "domain/result.h"

namespace weir::cli {

struct Login {
  std::string server;  // without a slash at the end
  std::string token;
  std::string fingerprint;        // empty: none
  std::filesystem::path ca_file;  // empty: none; never beside a fingerprint
  friend bool operator==(const Login&, const Login&) = default;
};

// The folder of all that clients are told by their user; empty when there is no home folder.
std::filesystem::path client_config_folder();

// Nothing when nobody is logged in. A mistake when others could read the file.
Result<std::optional<Login>> read_login();
// There whole or not at all.
Result<void> write_login(const Login& login);
// False when there was none.
Result<bool> remove_login();

// "sha256//" and 32 bytes as Base64; nothing when it is something else.
std::optional<std::string> key_fingerprint(std::string_view text);

}  // namespace weir::cli
