// SPDX-License-Identifier: Apache-2.0
//
// When enough hosts are free and yet no partition is: which one running job to change so that the
// waiting one gets in. Cheapest first: other spines for a running job (only its routes change, its
// flows pause for a moment), else other hosts for a small one (checkpoint and restart).
#pragma once

#include <optional>
#include <span>

#include "domain/ids.h"
#include "network/partition/logical_clos.h"

namespace weir::network {

struct RunningPartition {
  JobId job;
  Partition partition;
};

struct Defragmentation {
  JobId job;                 // who changes
  bool moves_hosts = false;  // false: only spines
  Partition after;           // what that job has then
  Partition admitted;        // what the waiting job gets
};

// Jobs of more than `most_moved` hosts keep their hosts. Nothing when no single change helps.
std::optional<Defragmentation> defragment(const LogicalClos& clos,
                                          std::span<const RunningPartition> running, int hosts,
                                          int most_moved);

}  // namespace weir::network
