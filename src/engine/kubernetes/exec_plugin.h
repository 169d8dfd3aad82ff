// SPDX-License-Identifier: Apache-2.0
//
// Programs that give credentials (cloud providers' command lines): started without a shell, with what they need to
// know in KUBERNETES_EXEC_INFO, they print an ExecCredential. Their errors go to our standard error.
#pragma once

#include <optional>
#include <string_view>

#include "engine/kubernetes/credentials.h"

namespace weir::engine::kubernetes {

struct PluginAnswer {
  Credentials credentials;
  std::optional<Time> ends;  // none: they last until the server refuses them
};

Result<PluginAnswer> run_exec_plugin(const ExecPlugin& plugin);

// What such a program printed. `name` names it in messages, which never hold what it printed.
Result<PluginAnswer> read_exec_credential(const std::string& name, std::string_view json);

}  // namespace weir::engine::kubernetes
