// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/fragmentation.h"

#include <algorithm>
#include <limits>
#include <set>

namespace weir::schedule {
namespace {

constexpr std::size_t kWholeCounts = kMaxGpusPerNode + 1;
constexpr std::int64_t kHintStep = 1000;  // one core

std::vector<std::int64_t> counts_of(const TargetWorkload& target) {
  std::vector<std::int64_t> counts;
  for (const ExpectedShape& expected : target.shapes) counts.push_back(expected.count);
  return counts;
}

// table[i][j] becomes the sum of all table[i'][j'] with i' <= i and j' <= j.
void sum_up(std::int64_t* table, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 1; j < columns; ++j) table[i * columns + j] += table[i * columns + j - 1];
  }
  for (std::size_t i = columns; i < rows * columns; ++i) table[i] += table[i - columns];
}

}  // namespace

std::int64_t fragment_for(const NodeState& node, const Shape& expected) {
  const std::int64_t all = node.free_gpu_total().value;
  if (expected.is_cpu_only() || !expected.models.accepts(node.model)) return all;
  if (node.free_cpu < expected.cpu) return all;
  int enough = 0;
  std::int64_t too_small = 0;
  for (const std::int16_t free : node.free_gpu) {
    if (free >= expected.gpu_share.value) {
      ++enough;
    } else {
      too_small += free;
    }
  }
  return enough >= expected.gpu_count ? too_small : all;
}

Fragmentation::Fragmentation(const TargetWorkload& target)
    : Fragmentation{target, counts_of(target), target.total} {}

Fragmentation::Fragmentation(const TargetWorkload& target, const std::vector<std::int64_t>& weights,
                             std::int64_t total)
    : total_{total} {
  find_levels_and_ranks(target);
  fill_tables(target, weights);
}

void Fragmentation::find_levels_and_ranks(const TargetWorkload& target) {
  std::set<std::int64_t> cpus;
  std::set<std::int64_t> shares;
  for (const ExpectedShape& expected : target.shapes) {
    if (expected.shape.is_cpu_only()) continue;
    cpus.insert(expected.shape.cpu.value);
    if (expected.shape.gpu_count == 1) shares.insert(expected.shape.gpu_share.value);
  }
  cpu_steps_.assign(cpus.begin(), cpus.end());
  const std::int64_t last_step = cpu_steps_.empty() ? 0 : cpu_steps_.back();
  for (std::int64_t cpu = 0; cpu <= last_step + kHintStep; cpu += kHintStep) {
    const auto below = std::upper_bound(cpu_steps_.begin(), cpu_steps_.end(), cpu);
    level_hint_.push_back(static_cast<std::uint32_t>(below - cpu_steps_.begin()));
  }
  cpu_steps_.push_back(std::numeric_limits<std::int64_t>::max());  // ends the search in cpu_level
  for (std::size_t free = 0; free < share_rank_.size(); ++free) {
    const auto up_to = shares.upper_bound(static_cast<std::int64_t>(free));
    share_rank_[free] = static_cast<std::uint16_t>(std::distance(shares.begin(), up_to));
  }
  ranks_ = shares.size() + 1;
}

void Fragmentation::fill_tables(const TargetWorkload& target,
                                const std::vector<std::int64_t>& weights) {
  // One model to stand for each group; kNoGpuModel is in no set and stands for the unnamed.
  std::vector<GpuModelId> models{kNoGpuModel};
  std::uint64_t named = 0;
  for (const ExpectedShape& expected : target.shapes) named |= expected.shape.models.bits();
  for (std::size_t model = 0; model < kMaxGpuModels; ++model) {
    if ((named >> model & 1U) == 0) continue;
    group_[model] = static_cast<std::uint8_t>(models.size());
    models.push_back(GpuModelId{static_cast<std::uint8_t>(model)});
  }

  const std::size_t levels = cpu_steps_.size();
  lost_.assign(models.size() * levels * ranks_, 0);
  whole_.assign(models.size() * levels * kWholeCounts, 0);
  for (std::size_t group = 0; group < models.size(); ++group) {
    std::int64_t* const lost = &lost_[group * levels * ranks_];
    std::int64_t* const whole = &whole_[group * levels * kWholeCounts];
    // Each shape where it begins to fit; then sums over all that come before.
    for (std::size_t i = 0; i < target.shapes.size(); ++i) {
      const Shape& shape = target.shapes[i].shape;
      if (shape.is_cpu_only() || !shape.models.accepts(models[group])) continue;
      const std::size_t level = cpu_level(shape.cpu);
      if (shape.gpu_count == 1) {
        lost[level * ranks_ + share_rank_[static_cast<std::size_t>(shape.gpu_share.value)]] -=
            weights[i];
      } else {
        whole[level * kWholeCounts + static_cast<std::size_t>(shape.gpu_count)] += weights[i];
      }
    }
    sum_up(lost, levels, ranks_);
    sum_up(whole, levels, kWholeCounts);
    for (std::size_t i = 0; i < levels * ranks_; ++i) lost[i] += total_;
    for (std::size_t i = 0; i < levels * kWholeCounts; ++i) {
      whole[i] *= kWholeGpu.value * static_cast<std::int64_t>(i % kWholeCounts);
    }
  }
}

std::size_t Fragmentation::cpu_level(MilliCpu cpu) const {
  const auto hint = static_cast<std::size_t>(cpu.value / kHintStep);
  std::size_t level = level_hint_[std::min(hint, level_hint_.size() - 1)];
  while (cpu_steps_[level] <= cpu.value) ++level;
  return level;
}

Fragmentation::Row Fragmentation::row(GpuModelId model, MilliCpu cpu) const {
  const std::size_t at = group_[model.value] * cpu_steps_.size() + cpu_level(cpu);
  return Row{&lost_[at * ranks_], &whole_[at * kWholeCounts]};
}

std::int64_t Fragmentation::lost_on_all(const Row& row, const NodeState& node) const {
  std::int64_t lost = 0;
  for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) lost += lost_on(row, node.free_gpu[gpu]);
  return lost;
}

std::int64_t Fragmentation::weighted(const NodeState& node) const {
  if (node.gpu_count == 0) return 0;
  const Row now = row(node.model, node.free_cpu);
  return lost_on_all(now, node) - now.whole[node.whole_free_gpus()];
}

std::int64_t Fragmentation::gain(const NodeState& node, const Shape& shape) const {
  if (node.gpu_count == 0) return 0;
  const Row before = row(node.model, node.free_cpu);
  const Row after = row(node.model, node.free_cpu - shape.cpu);
  const int whole = node.whole_free_gpus();
  // What the lost CPU alone does to the GPUs that are not touched.
  std::int64_t gain =
      before.lost == after.lost ? 0 : lost_on_all(before, node) - lost_on_all(after, node);
  gain -= before.whole[whole];
  if (!shape.shares_gpu()) {
    return gain + shape.gpu_count * lost_on(after, kWholeGpu.value) +
           after.whole[whole - shape.gpu_count];
  }
  std::int64_t best = std::numeric_limits<std::int64_t>::min();
  std::int16_t last_tried = -1;
  for (std::size_t gpu = 0; gpu < node.gpu_count; ++gpu) {
    const std::int16_t free = node.free_gpu[gpu];
    if (free < shape.gpu_share.value || free == last_tried) continue;
    last_tried = free;
    const int whole_after = free == kWholeGpu.value ? whole - 1 : whole;
    best = std::max(best, lost_on(after, free) - lost_on(after, free - shape.gpu_share.value) +
                              after.whole[whole_after]);
  }
  return gain + best;
}

std::int64_t Fragmentation::gain_on(const NodeState& node, const Shape& shape, int gpu) const {
  const Row before = row(node.model, node.free_cpu);
  const Row after = row(node.model, node.free_cpu - shape.cpu);
  const int whole = node.whole_free_gpus();
  const std::int64_t free = node.free_gpu[static_cast<std::size_t>(gpu)];
  const int whole_after = free == kWholeGpu.value ? whole - 1 : whole;
  return lost_on_all(before, node) - before.whole[whole] - lost_on_all(after, node) +
         lost_on(after, free) - lost_on(after, free - shape.gpu_share.value) +
         after.whole[whole_after];
}

}  // namespace weir::schedule
