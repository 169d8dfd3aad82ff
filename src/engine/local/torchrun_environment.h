// SPDX-License-Identifier: Apache-2.0
//
// The two ways to run a script that is written for torchrun: set for its ranks what torchrun would
// set, or tell torchrun what it would be told on its command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/local/supervisor_order.h"

namespace weir::engine {

using Variables = std::vector<std::pair<std::string, std::string>>;

// For ranks that we start, so that a script cannot tell who started it: one node, one role, rank 0
// hosts the store. What depends on the rank is not among them. What the user has set of the last two
// stands.
void add_what_torchrun_sets(const SupervisorOrder& order, Variables& variables);

// For torchrun itself (PET_..., as for its options): as many ranks as there are GPUs, on this machine,
// a meeting point of their own, and no restarts: those are weir's.
void add_what_torchrun_reads(const SupervisorOrder& order, Variables& variables);

}  // namespace weir::engine
