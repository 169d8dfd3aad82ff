// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/rearrange.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace weir::schedule {
namespace {

constexpr std::int32_t kNobody = -1;

class Rearrangement {
 public:
  Rearrangement(std::span<const SizeWish> wishes, const BlockMap& closed)
      : wishes_{wishes},
        map_{closed},
        owner_(closed.gpu_count(), kNobody),
        blocks_(wishes.size()) {}

  std::vector<GpuBlock> run() {
    std::vector<std::size_t> movers;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const SizeWish& wish = wishes_[i];
      if (wish.gpus == 0) continue;
      if (wish.present.size == wish.gpus && map_.is_free(wish.present)) {
        hold(i, wish.present);
      } else {
        movers.push_back(i);
      }
    }
    // The large first: small ones fit into what they leave.
    std::stable_sort(movers.begin(), movers.end(), [&](std::size_t a, std::size_t b) {
      return wishes_[a].gpus > wishes_[b].gpus;
    });
    for (const std::size_t i : movers) {
      if (const auto block = find(wishes_[i])) hold(i, *block);
    }
    return std::move(blocks_);
  }

 private:
  void hold(std::size_t job, GpuBlock block) {
    map_.take(block);
    std::fill_n(owner_.begin() + block.first, block.size, static_cast<std::int32_t>(job));
    blocks_[job] = block;
  }

  void release(std::size_t job) {
    map_.give_back(blocks_[job]);
    std::fill_n(owner_.begin() + blocks_[job].first, blocks_[job].size, kNobody);
    blocks_[job] = kNoGpus;
  }

  std::optional<GpuBlock> find(const SizeWish& wish) {
    if (!wish.present.is_none()) {
      const GpuBlock near = enclosing(wish.present, wish.gpus);
      if (map_.is_free(near)) return near;
    }
    if (const auto free = map_.best_fit(wish.gpus)) return free;
    return clear_a_block(wish.gpus);
  }

  // The GPUs in use there; nothing when the block cannot be cleared.
  std::optional<std::uint32_t> in_use(GpuBlock block) const {
    std::uint32_t gpus = 0;
    for (std::uint32_t slot = block.first; slot < block.end();) {
      const std::int32_t job = owner_[slot];
      if (job == kNobody) {
        if (!map_.is_free({slot, 1})) return std::nullopt;  // closed
        ++slot;
        continue;
      }
      const GpuBlock theirs = blocks_[static_cast<std::size_t>(job)];
      if (theirs.size >= block.size) return std::nullopt;
      gpus += theirs.size;
      slot = theirs.end();
    }
    return gpus;
  }

  std::optional<GpuBlock> clear_a_block(std::uint32_t gpus) {
    if (map_.free_count() < gpus) return std::nullopt;
    GpuBlock best;
    std::uint32_t least = gpus;
    for (GpuBlock block{0, gpus}; block.end() <= map_.gpu_count(); block.first += gpus) {
      const auto used = in_use(block);
      if (used && *used < least) {
        least = *used;
        best = block;
      }
    }
    if (best.is_none()) return std::nullopt;
    std::vector<std::size_t> movers;
    for (std::uint32_t slot = best.first; slot < best.end(); ++slot) {
      if (owner_[slot] == kNobody) continue;
      const auto job = static_cast<std::size_t>(owner_[slot]);
      slot = blocks_[job].end() - 1;
      movers.push_back(job);
    }
    for (const std::size_t job : movers) release(job);
    map_.take(best);  // so that none of them goes back
    std::stable_sort(movers.begin(), movers.end(), [&](std::size_t a, std::size_t b) {
      return wishes_[a].gpus > wishes_[b].gpus;
    });
    for (const std::size_t job : movers) {
      if (const auto block = find({kNoGpus, wishes_[job].gpus})) hold(job, *block);
    }
    map_.give_back(best);
    return best;
  }

  std::span<const SizeWish> wishes_;
  BlockMap map_;
  std::vector<std::int32_t> owner_;  // by GPU
  std::vector<GpuBlock> blocks_;
};

}  // namespace

std::vector<GpuBlock> rearrange(std::span<const SizeWish> wishes, const BlockMap& closed) {
  return Rearrangement{wishes, closed}.run();
}

}  // namespace weir::schedule
