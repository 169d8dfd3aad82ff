// SPDX-License-Identifier: Apache-2.0
//
// Packing by trying everything: what the packing tables are compared with in tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/place/node_packing.h"

namespace weir::schedule {

// Calls visit(gpus after) for each way to put the item on GPUs that differ in their free share.
template <class Visit>
void for_each_way(const std::vector<std::size_t>& gpus, std::size_t gpu_share, std::size_t count,
                  Visit visit) {
  std::vector<std::size_t> after = gpus;
  if (count > 1) {
    std::size_t left = count;
    for (std::size_t& free : after) {
      if (left == 0 || free != 1000) continue;
      free = 0;
      --left;
    }
    if (left == 0) visit(after);
    return;
  }
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const auto earlier = std::span{gpus}.first(g);
    if (gpus[g] < gpu_share || std::count(earlier.begin(), earlier.end(), gpus[g]) > 0) continue;
    after[g] -= gpu_share;
    visit(after);
    after[g] = gpus[g];
  }
}

// The best value of items on these GPUs. `first`: where to go on in the items.
inline std::int32_t best_by_search(std::span<const PackItem> items,
                                   const std::vector<std::size_t>& gpus, std::size_t cpu,
                                   std::size_t first = 0) {
  std::int32_t best = 0;
  for (std::size_t i = first; i < items.size(); ++i) {
    if (items[i].cpu > cpu) continue;
    for_each_way(
        gpus, items[i].gpu_share, items[i].gpus, [&](const std::vector<std::size_t>& after) {
          best =
              std::max(best, items[i].value + best_by_search(items, after, cpu - items[i].cpu, i));
        });
  }
  return best;
}

// True when the GPUs can hold exactly these items at once.
inline bool can_hold(const std::vector<std::size_t>& gpus, std::size_t cpu,
                     std::span<const PackItem> items) {
  if (items.empty()) return true;
  const PackItem& item = items.front();
  if (item.cpu > cpu) return false;
  bool fits = false;
  for_each_way(gpus, item.gpu_share, item.gpus, [&](const std::vector<std::size_t>& after) {
    fits = fits || can_hold(after, cpu - item.cpu, items.subspan(1));
  });
  return fits;
}

}  // namespace weir::schedule
