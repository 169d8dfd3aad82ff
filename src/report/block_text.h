// SPDX-License-Identifier: Apache-2.0
//
// Where a block of GPUs is, in words: "T4 node 3", "T4 node 3, GPUs 0-1", "T4 nodes 5-8". Nodes are
// counted from 1 in the order of the cluster's list, GPUs from 0 as drivers do.
#pragma once

#include <span>
#include <string>

#include "domain/ids.h"
#include "domain/timeline.h"
#include "formats/record_log.h"

namespace weir::report {

// "-" for no GPUs.
std::string block_text(std::span<const formats::RecordLogHeader::Pool> pools, PoolIndex pool,
                       GpuBlock block);

}  // namespace weir::report
