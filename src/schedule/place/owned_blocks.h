// SPDX-License-Identifier: Apache-2.0
//
// Which job has which block, and whom to ask to move so that a block gets free.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "domain/timeline.h"
#include "schedule/place/block_map.h"

namespace weir::schedule {

class OwnedBlocks {
 public:
  // Jobs are numbered from 0 and have nothing yet.
  OwnedBlocks(const BlockMap& closed, std::size_t jobs)
      : map_{closed}, owner_(closed.gpu_count(), kNobody), blocks_(jobs) {}

  const BlockMap& map() const { return map_; }
  GpuBlock block_of(std::size_t job) const { return blocks_[job]; }
  std::vector<GpuBlock> take_blocks() { return std::move(blocks_); }

  // Requires: the block is free and the job has none.
  void hold(std::size_t job, GpuBlock block);
  void release(std::size_t job);
  // Keeps the GPUs from everybody for a while.
  void reserve(GpuBlock block) { map_.take(block); }
  void unreserve(GpuBlock block) { map_.give_back(block); }

  // The block of that size with the fewest GPUs in use, all by smaller jobs that may move; nothing
  // when there is none. The first of equals.
  std::optional<GpuBlock> cheapest_to_clear(
      std::uint32_t gpus, const std::function<bool(std::size_t job)>& may_move) const;
  // The jobs in it, the largest first, then by place.
  std::vector<std::size_t> jobs_in(GpuBlock block) const;

 private:
  static constexpr std::int32_t kNobody = -1;

  std::optional<std::uint32_t> gpus_to_move(
      GpuBlock block, const std::function<bool(std::size_t job)>& may_move) const;

  BlockMap map_;
  std::vector<std::int32_t> owner_;  // by GPU
  std::vector<GpuBlock> blocks_;     // by job
};

}  // namespace weir::schedule
