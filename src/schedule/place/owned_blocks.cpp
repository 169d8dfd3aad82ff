// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/owned_blocks.h"

#include <algorithm>

namespace weir::schedule {

void OwnedBlocks::hold(std::size_t job, GpuBlock block) {
  map_.take(block);
  std::fill_n(owner_.begin() + block.first, block.size, static_cast<std::int32_t>(job));
  blocks_[job] = block;
}

void OwnedBlocks::release(std::size_t job) {
  const GpuBlock block = blocks_[job];
  if (block.is_none()) return;
  map_.give_back(block);
  std::fill_n(owner_.begin() + block.first, block.size, kNobody);
  blocks_[job] = kNoGpus;
}

// Nothing when somebody in it is too large or may not move, or a GPU is closed.
std::optional<std::uint32_t> OwnedBlocks::gpus_to_move(
    GpuBlock block, const std::function<bool(std::size_t job)>& may_move) const {
  std::uint32_t gpus = 0;
  for (std::uint32_t slot = block.first; slot < block.end();) {
    if (owner_[slot] == kNobody) {
      if (!map_.is_free({slot, 1})) return std::nullopt;
      ++slot;
      continue;
    }
    const auto job = static_cast<std::size_t>(owner_[slot]);
    if (blocks_[job].size >= block.size || !may_move(job)) return std::nullopt;
    gpus += blocks_[job].size;
    slot = blocks_[job].end();
  }
  return gpus;
}

std::optional<GpuBlock> OwnedBlocks::cheapest_to_clear(
    std::uint32_t gpus, const std::function<bool(std::size_t job)>& may_move) const {
  if (map_.free_count() < gpus) return std::nullopt;
  std::optional<GpuBlock> best;
  std::uint32_t least = gpus;
  for (GpuBlock block{0, gpus}; block.end() <= map_.gpu_count(); block.first += gpus) {
    const auto moving = gpus_to_move(block, may_move);
    if (!moving || *moving >= least) continue;
    least = *moving;
    best = block;
  }
  return best;
}

std::vector<std::size_t> OwnedBlocks::jobs_in(GpuBlock block) const {
  std::vector<std::size_t> jobs;
  for (std::uint32_t slot = block.first; slot < block.end();) {
    if (owner_[slot] == kNobody) {
      ++slot;
      continue;
    }
    jobs.push_back(static_cast<std::size_t>(owner_[slot]));
    slot = blocks_[jobs.back()].end();
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](std::size_t a, std::size_t b) { return blocks_[a].size > blocks_[b].size; });
  return jobs;
}

}  // namespace weir::schedule
