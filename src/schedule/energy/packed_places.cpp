// SPDX-License-Identifier: Apache-2.0
#include "schedule/energy/packed_places.h"

#include <algorithm>

namespace weir::schedule {
namespace {

std::vector<SizeWish> plain(std::span<const PackedWish> wishes) {
  std::vector<SizeWish> plain;
  plain.reserve(wishes.size());
  for (const PackedWish& wish : wishes) plain.push_back({wish.present, wish.gpus});
  return plain;
}

// How many GPUs of each node the jobs have.
std::vector<std::uint32_t> busy_by_node(std::span<const GpuBlock> blocks, std::uint32_t stride,
                                        std::uint32_t slots) {
  std::vector<std::uint32_t> busy((slots + stride - 1) / stride);
  for (const GpuBlock& block : blocks) {
    for (std::uint32_t at = block.first; at < block.end();) {
      const std::uint32_t node = at / stride;
      const std::uint32_t until = std::min(block.end(), (node + 1) * stride);
      busy[node] += until - at;
      at = until;
    }
  }
  return busy;
}

}  // namespace

std::vector<GpuBlock> places_on_few_nodes(std::span<const PackedWish> wishes,
                                          const BlockMap& closed, const NodeRow& nodes) {
  const std::uint32_t stride = nodes.stride;
  std::vector<GpuBlock> blocks = rearrange(plain(wishes), closed);
  if (stride <= 1) return blocks;
  while (true) {
    const auto busy = busy_by_node(blocks, stride, closed.gpu_count());
    // Partly used nodes that could sleep.
    std::vector<std::uint32_t> partly;
    for (std::uint32_t node = 0; node < busy.size(); ++node) {
      const GpuBlock all{node * stride, stride};
      if (busy[node] > 0 && !nodes.is_awake[node] && busy[node] < closed.free_in(all))
        partly.push_back(node);
    }
    if (partly.empty()) return blocks;
    std::stable_sort(partly.begin(), partly.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return busy[a] < busy[b]; });
    bool is_emptied = false;
    for (const std::uint32_t node : partly) {
      const GpuBlock all{node * stride, stride};
      BlockMap taken = closed;
      for (const GpuBlock& block : blocks) {
        if (!block.is_none() && !all.contains(block)) taken.take(block);
      }
      // Only into nodes that are awake anyway: full gaps of others stay asleep.
      std::uint32_t room = 0;
      for (std::uint32_t other = 0; other < busy.size(); ++other) {
        const GpuBlock there{other * stride, stride};
        const bool is_asleep = busy[other] == 0 && !nodes.is_awake[other];
        if (other == node || is_asleep) {
          taken.cover(there);
        } else {
          room += taken.free_in(there);
        }
      }
      if (room < busy[node]) continue;
      std::vector<std::size_t> movers;
      bool may_move = true;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].is_none() || !all.contains(blocks[i])) continue;
        // One that starts or is resized anyway pays in any case.
        may_move = may_move && (wishes[i].may_be_moved || blocks[i] != wishes[i].present);
        movers.push_back(i);
      }
      if (!may_move) continue;
      std::stable_sort(movers.begin(), movers.end(), [&](std::size_t a, std::size_t b) {
        return blocks[a].size > blocks[b].size;
      });
      std::vector<GpuBlock> moved = blocks;
      bool fits = true;
      for (const std::size_t i : movers) {
        const auto place = taken.best_fit(blocks[i].size);
        if (!place) {
          fits = false;
          break;
        }
        moved[i] = *place;
        taken.take(*place);
      }
      if (!fits) continue;
      blocks = std::move(moved);
      is_emptied = true;
      break;
    }
    if (!is_emptied) return blocks;
  }
}

}  // namespace weir::schedule
