// SPDX-License-Identifier: Apache-2.0
//
// Places for jobs whose sizes are decided, on as few nodes as that is worth: nodes without jobs
// sleep. A job is moved away from a node that it keeps awake if it has long enough to go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/timeline.h"
#include "schedule/place/block_map.h"
#include "schedule/place/rearrange.h"

namespace weir::schedule {

struct PackedWish {
  GpuBlock present;
  std::uint32_t gpus = 0;    // a power of two, or 0
  bool may_be_moved = true;  // to let a node sleep
};

// Nodes in a row, each beginning at a multiple of `stride`.
struct NodeRow {
  std::uint32_t stride = 1;
  std::vector<bool> is_awake;  // whatever is wished: others have GPUs there
};

// One block for each wish, as rearrange() does.
std::vector<GpuBlock> places_on_few_nodes(std::span<const PackedWish> wishes,
                                          const BlockMap& closed, const NodeRow& nodes);

}  // namespace weir::schedule
