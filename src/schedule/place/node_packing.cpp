// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/node_packing.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace weir::schedule {
namespace {

// target(c) = max(target(c), source(c - shift) + gain) for c >= shift.
void raise_shifted(std::span<const std::int32_t> source, std::size_t shift, std::int32_t gain,
                   std::span<std::int32_t> target) {
  if (shift >= target.size()) return;
  const std::size_t count = target.size() - shift;
  const std::int32_t* from = source.data();
  std::int32_t* to = target.data() + shift;
  for (std::size_t c = 0; c < count; ++c) to[c] = std::max(to[c], from[c] + gain);
}

}  // namespace

CpuGrid::CpuGrid(MilliCpu largest_node) {
  constexpr auto kMost = static_cast<std::int64_t>(kMostSteps);
  step_ = std::max(kFinestStep, (largest_node.value + kMost - 1) / kMost);
}

void prune_items(std::vector<PackItem>& items) {
  std::erase_if(items, [](const PackItem& item) { return item.value <= 0; });
  // Whatever dominates an item stands before it in this order.
  std::sort(items.begin(), items.end(), [](const PackItem& a, const PackItem& b) {
    return std::tuple{a.gpus, a.gpu_share, a.cpu, -a.value, a.id} <
           std::tuple{b.gpus, b.gpu_share, b.cpu, -b.value, b.id};
  });
  std::vector<PackItem> kept;
  for (const PackItem& item : items) {
    const bool is_dominated = std::any_of(kept.begin(), kept.end(), [&](const PackItem& other) {
      return other.gpus == item.gpus && other.gpu_share <= item.gpu_share &&
             other.cpu <= item.cpu && other.value >= item.value;
    });
    if (!is_dominated) kept.push_back(item);
  }
  items = std::move(kept);
}

ShareLevels::ShareLevels(std::span<const PackItem> items) {
  std::vector<bool> is_sum(kWholeShare + 1, false);
  is_sum[0] = true;
  for (std::size_t sum = 1; sum <= kWholeShare; ++sum) {
    is_sum[sum] = std::any_of(items.begin(), items.end(), [&](const PackItem& item) {
      return item.gpus == 1 && item.gpu_share <= sum && is_sum[sum - item.gpu_share];
    });
  }
  for (std::size_t free = 0; free <= kWholeShare; ++free) {
    if (is_sum[free]) share_.push_back(free);
    level_.push_back(share_.size() - 1);
  }
}

void append_rises(std::span<const std::int32_t> row, std::vector<RowStep>& rises) {
  std::int32_t last = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (row[c] <= last) continue;
    last = row[c];
    rises.push_back({static_cast<std::uint32_t>(c), last});
  }
}

void combine(std::span<const std::int32_t> source, std::span<const RowStep> rises,
             std::span<std::int32_t> target) {
  std::copy(source.begin(), source.end(), target.begin());
  for (const RowStep& rise : rises) raise_shifted(source, rise.cpu, rise.value, target);
}

void PackingTable::build(std::span<const PackItem> items, const ShareLevels& levels,
                         std::size_t cpu_steps, std::size_t most_free) {
  width_ = cpu_steps + 1;
  one_gpu_.assign(levels.size() * width_, 0);
  free_.assign((most_free + 1) * width_, 0);
  for (std::size_t level = 1; level < levels.size(); ++level) {
    const std::span<std::int32_t> target = row(one_gpu_, level);
    std::ranges::copy(one_gpu(level - 1), target.begin());
    for (const PackItem& item : items) {
      if (item.gpus != 1 || item.gpu_share > levels.share(level)) continue;
      const std::size_t rest = levels.level(levels.share(level) - item.gpu_share);
      raise_shifted(one_gpu(rest), item.cpu, item.value, target);
    }
  }
  rises_.clear();
  append_rises(one_gpu(levels.whole()), rises_);
  for (std::size_t free = 1; free <= most_free; ++free) {
    const std::span<std::int32_t> target = row(free_, free);
    combine(free_gpus(free - 1), rises_, target);
    for (const PackItem& item : items) {
      if (item.gpus <= 1 || item.gpus > free) continue;
      raise_shifted(free_gpus(free - item.gpus), item.cpu, item.value, target);
    }
  }
}

void PackingTable::recover_one_gpu(std::span<const PackItem> items, const ShareLevels& levels,
                                   std::size_t cpu, std::vector<std::size_t>& chosen) const {
  std::size_t level = levels.whole();
  while (one_gpu(level)[cpu] > 0) {
    const std::int32_t want = one_gpu(level)[cpu];
    const auto rest_after = [&](const PackItem& item) {
      return levels.level(levels.share(level) - item.gpu_share);
    };
    const auto last = std::find_if(items.begin(), items.end(), [&](const PackItem& item) {
      return item.gpus == 1 && item.gpu_share <= levels.share(level) && item.cpu <= cpu &&
             one_gpu(rest_after(item))[cpu - item.cpu] + item.value == want;
    });
    if (last == items.end()) {
      --level;  // the row only repeats the one below
      continue;
    }
    chosen.push_back(static_cast<std::size_t>(last - items.begin()));
    level = rest_after(*last);
    cpu -= last->cpu;
  }
}

std::vector<std::size_t> PackingTable::recover(std::span<const PackItem> items,
                                               const ShareLevels& levels, std::size_t free,
                                               std::size_t cpu) const {
  std::vector<std::size_t> chosen;
  while (free > 0 && free_gpus(free)[cpu] > 0) {
    const std::int32_t want = free_gpus(free)[cpu];
    const auto last = std::find_if(items.begin(), items.end(), [&](const PackItem& item) {
      return item.gpus > 1 && item.gpus <= free && item.cpu <= cpu &&
             free_gpus(free - item.gpus)[cpu - item.cpu] + item.value == want;
    });
    if (last != items.end()) {
      chosen.push_back(static_cast<std::size_t>(last - items.begin()));
      free -= last->gpus;
      cpu -= last->cpu;
      continue;
    }
    // Otherwise one GPU holds small items: give it the least CPU that reaches the value.
    std::size_t share = 0;
    while (free_gpus(free - 1)[cpu - share] + one_gpu(levels.whole())[share] != want) ++share;
    recover_one_gpu(items, levels, share, chosen);
    free -= 1;
    cpu -= share;
  }
  return chosen;
}

}  // namespace weir::schedule
