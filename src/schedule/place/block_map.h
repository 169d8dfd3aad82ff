// SPDX-License-Identifier: Apache-2.0
//
// Which GPUs of a pool are taken, as a bitmap, with the searches of a buddy allocator on it. Blocks
// are aligned powers of two, so a pool of any size is a forest of trees and every question is a few
// word operations per 64 GPUs. There is no tree to keep in step: the bitmap is all there is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/timeline.h"

namespace weir::schedule {

class BlockMap {
 public:
  BlockMap() = default;
  // All free.
  explicit BlockMap(std::uint32_t gpus);

  std::uint32_t gpu_count() const { return gpus_; }
  std::uint32_t free_count() const { return free_; }
  std::uint32_t free_in(GpuBlock block) const;
  bool is_free(GpuBlock block) const { return free_in(block) == block.size; }

  // Requires: the block is free, or taken, as a whole.
  void take(GpuBlock block);
  void give_back(GpuBlock block);
  // Takes what is not taken yet.
  void cover(GpuBlock block);
  // The same for many: cover_later() each, then count_free() once before anything else.
  void cover_later(GpuBlock block);
  void count_free();

  // A free block of that size (a power of two) that breaks up the smallest larger free block; the
  // first of equals.
  std::optional<GpuBlock> best_fit(std::uint32_t size) const;

  friend bool operator==(const BlockMap&, const BlockMap&) = default;

 private:
  std::optional<GpuBlock> best_fit_within_words(std::uint32_t size) const;
  std::optional<GpuBlock> best_fit_of_words(std::uint32_t size) const;

  std::vector<std::uint64_t> taken_;  // bits past gpus_ are set
  std::uint32_t gpus_ = 0;
  std::uint32_t free_ = 0;
};

// The block of `size` around or inside `block` that starts at the same multiple.
constexpr GpuBlock enclosing(GpuBlock block, std::uint32_t size) {
  return {block.first / size * size, size};
}

}  // namespace weir::schedule
