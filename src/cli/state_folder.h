// SPDX-License-Identifier: Apache-2.0
//
// Where `weir serve` keeps its store, its jobs' logs and its token, and where clients find the token.
#pragma once

#include <filesystem>
#include <string>

#include "domain/result.h"

namespace weir::cli {

// $WEIR_STATE, else $XDG_STATE_HOME/weir, else ~/.local/state/weir, else /var/lib/weir.
std::filesystem::path default_state_folder();

std::filesystem::path store_file(const std::filesystem::path& state);   // STATE/weir.db
std::filesystem::path token_file(const std::filesystem::path& state);   // STATE/token
std::filesystem::path tokens_file(const std::filesystem::path& state);  // STATE/tokens.json
// STATE/tls-cert.pem and STATE/tls-key.pem, of a server that made its own.
std::filesystem::path certificate_file(const std::filesystem::path& state);
std::filesystem::path key_file(const std::filesystem::path& state);
std::filesystem::path audit_file(const std::filesystem::path& state);  // STATE/audit.jsonl
std::filesystem::path url_file(const std::filesystem::path& state);  // STATE/url, of the last start

// Whether users of jobs pass through it to where they work. They cannot list it, and each file in it is
// for its owner only.
enum class FolderAccess { own, others_pass };
// Makes the folder, readable by its owner only.
Result<void> make_state_folder(const std::filesystem::path& state,
                               FolderAccess access = FolderAccess::own);
// The token in the file; a new one is made when there is none.
Result<std::string> read_or_make_token(const std::filesystem::path& file);

}  // namespace weir::cli
