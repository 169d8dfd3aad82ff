// SPDX-License-Identifier: Apache-2.0
//
// `weir tenants` and `weir tenants set`: who shares the server's cluster, and how they stand.
#pragma once

#include "cli/client_api.h"
#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"
#include "report/table.h"

namespace weir::cli {

CommandSpec tenants_spec();
Result<void> tenants_command(const OptionValues& options, Console& console);

CommandSpec tenants_set_spec();
Result<void> tenants_set_command(const OptionValues& options, Console& console);

// Groups with what they are made of below them, a row for each pool.
report::Table tenant_table(const ApiJson& shown);

}  // namespace weir::cli
