// SPDX-License-Identifier: Apache-2.0
//
// `weir serve --tenant-user vision=alice`: as whom the jobs of a tenant run.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

using TenantUsers = std::map<std::string, std::string, std::less<>>;

// All mistakes at once: what is no pair, users this machine does not have, root.
Result<TenantUsers> read_tenant_users(const OptionValues& options, bool is_root);

// Jobs work below the state folder: their users must be able to get there.
// Requires: root.
Result<void> check_users_can_enter(const TenantUsers& users, const std::filesystem::path& state);

}  // namespace weir::cli
