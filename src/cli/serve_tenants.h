// SPDX-License-Identifier: Apache-2.0
//
// `weir serve --tenants FILE`: at the start, and again on SIGHUP.
#pragma once

#include <optional>
#include <string_view>

#include "cli/console.h"
#include "control/controller.h"
#include "domain/options.h"
#include "domain/result.h"
#include "domain/tenants.h"

namespace weir::cli {

// Of options that make no sense together.
Diagnostics mistakes_of_tenants(const OptionValues& options);

// The file's; nothing when the option is not given.
Result<std::optional<TenantTable>> read_tenants(const OptionValues& options, const Cluster& cluster,
                                                std::string_view policy);

// Waits until it is durable.
Result<void> tell_tenants(control::Controller& controller, const TenantTable& table);

// Reads the file again. When anything is wrong, it is told and the tenants stay as they are.
void reload_tenants(const OptionValues& options, control::Controller& controller, Console& console);

}  // namespace weir::cli
