// SPDX-License-Identifier: Apache-2.0
//
// `weir network partition`: which leaves, hosts, spines or circuits each of some jobs would get.
#pragma once

#include "cli/console.h"
#include "domain/options.h"
#include "domain/result.h"

namespace weir::cli {

CommandSpec network_partition_spec();
Result<void> network_partition_command(const OptionValues& options, Console& console);

}  // namespace weir::cli
