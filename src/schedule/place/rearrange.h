// SPDX-License-Identifier: Apache-2.0
//
// GPUs for jobs whose sizes are decided, when every job may be moved: keep, shrink in place, grow in
// place, best fit, and where no block is whole, clear the one with the fewest GPUs in use. Blocks
// are aligned powers of two, so whatever fits by count fits by place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/timeline.h"
#include "schedule/place/block_map.h"

namespace weir::schedule {

struct SizeWish {
  GpuBlock present;
  std::uint32_t gpus = 0;  // a power of two, or 0
};

// One block for each wish, in order; none for those that did not fit: the last ones, if the wishes
// are more than there is.
std::vector<GpuBlock> rearrange(std::span<const SizeWish> wishes, const BlockMap& closed);

}  // namespace weir::schedule
