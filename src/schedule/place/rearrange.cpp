// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/rearrange.h"

#include <algorithm>
#include <optional>

#include "schedule/place/owned_blocks.h"

namespace weir::schedule {
namespace {

class Rearrangement {
 public:
  Rearrangement(std::span<const SizeWish> wishes, const BlockMap& closed)
      : wishes_{wishes}, owned_{closed, wishes.size()} {}

  std::vector<GpuBlock> run() {
    std::vector<std::size_t> movers;
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const SizeWish& wish = wishes_[i];
      if (wish.gpus == 0) continue;
      if (wish.present.size == wish.gpus && owned_.map().is_free(wish.present)) {
        owned_.hold(i, wish.present);
      } else {
        movers.push_back(i);
      }
    }
    // The large first: small ones fit into what they leave.
    std::stable_sort(movers.begin(), movers.end(), [&](std::size_t a, std::size_t b) {
      return wishes_[a].gpus > wishes_[b].gpus;
    });
    for (const std::size_t i : movers) {
      if (const auto block = find(wishes_[i])) owned_.hold(i, *block);
    }
    return owned_.take_blocks();
  }

 private:
  std::optional<GpuBlock> find(const SizeWish& wish) {
    if (!wish.present.is_none()) {
      const GpuBlock near = enclosing(wish.present, wish.gpus);
      if (owned_.map().is_free(near)) return near;
    }
    if (const auto free = owned_.map().best_fit(wish.gpus)) return free;
    return clear_a_block(wish.gpus);
  }

  std::optional<GpuBlock> clear_a_block(std::uint32_t gpus) {
    const auto block = owned_.cheapest_to_clear(gpus, [](std::size_t) { return true; });
    if (!block) return std::nullopt;
    const std::vector<std::size_t> movers = owned_.jobs_in(*block);
    for (const std::size_t job : movers) owned_.release(job);
    owned_.reserve(*block);  // so that none of them goes back
    for (const std::size_t job : movers) {
      if (const auto elsewhere = find({kNoGpus, wishes_[job].gpus})) owned_.hold(job, *elsewhere);
    }
    owned_.unreserve(*block);
    return block;
  }

  std::span<const SizeWish> wishes_;
  OwnedBlocks owned_;
};

}  // namespace

std::vector<GpuBlock> rearrange(std::span<const SizeWish> wishes, const BlockMap& closed) {
  return Rearrangement{wishes, closed}.run();
}

}  // namespace weir::schedule
