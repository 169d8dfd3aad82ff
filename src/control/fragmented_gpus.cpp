// SPDX-License-Identifier: Apache-2.0
#include "control/fragmented_gpus.h"

#include <algorithm>
#include <bit>

namespace weir::control {
namespace {

// What no job has, on nodes that can be used.
schedule::BlockMap free_gpus(const schedule::TrainingState& state,
                             const schedule::PoolState& pool) {
  schedule::BlockMap map = pool.closed;
  for (const JobId id : pool.active) map.cover_later(state.job(id).block);
  map.count_free();
  return map;
}

// Free GPUs that are in no free block of that size.
std::int64_t free_outside_blocks(const schedule::BlockMap& map, std::uint32_t size) {
  std::int64_t inside = 0;
  for (GpuBlock block{0, size}; block.end() <= map.gpu_count(); block.first += size)
    inside += map.is_free(block) ? size : 0;
  return map.free_count() - inside;
}

}  // namespace

void AskedSizes::add(std::int32_t gpus, std::uint32_t largest_block) {
  const std::uint32_t size =
      std::min(std::bit_ceil(static_cast<std::uint32_t>(gpus)), largest_block);
  latest_.push_back(size);
  ++counts_[size];
  if (latest_.size() <= kJobs) return;
  const auto oldest = counts_.find(latest_.front());
  if (--oldest->second == 0) counts_.erase(oldest);
  latest_.pop_front();
}

double fragmented_gpus(const schedule::TrainingState& state, const AskedSizes& asked) {
  std::int64_t jobs = 0;
  std::int64_t sum = 0;
  for (const auto& [size, count] : asked.counts()) jobs += count;
  if (jobs == 0) return 0;
  for (const schedule::PoolState& pool : state.pools) {
    const schedule::BlockMap map = free_gpus(state, pool);
    for (const auto& [size, count] : asked.counts()) sum += count * free_outside_blocks(map, size);
  }
  return static_cast<double>(sum) / static_cast<double>(jobs);
}

}  // namespace weir::control
