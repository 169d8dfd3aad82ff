// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/node_value.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include "domain/seeded_rng.h"

namespace weir::schedule {
namespace {

// Fixed: the samples belong to the policy, not to a run.
constexpr std::uint64_t kSampleSeed = 0x77656972;
constexpr std::size_t kFirstSlots = 1024;

MilliCpu largest_cpu(std::span<const NodeClass> node_classes) {
  MilliCpu largest;
  for (const NodeClass& node_class : node_classes) {
    if (node_class.empty.gpu_count > 0) largest = std::max(largest, node_class.empty.free_cpu);
  }
  return largest;
}

// Which samples hold the shape. A draw depends on the shape's contents and the sample only.
std::uint64_t samples_with(const Shape& shape, double chance, int samples) {
  const SeededRng rng = SeededRng{kSampleSeed}.fork(std::hash<Shape>{}(shape));
  std::uint64_t bits = 0;
  for (int j = 0; j < samples; ++j) {
    if (rng.fork(static_cast<std::uint64_t>(j)).uniform() < chance) bits |= std::uint64_t{1} << j;
  }
  return bits;
}

}  // namespace

NodeValue::NodeValue(const TargetWorkload& target, std::span<const std::int64_t> values,
                     std::span<const NodeClass> node_classes, const NodeValueOptions& options)
    : options_{options}, grid_{largest_cpu(node_classes)}, slots_(kFirstSlots) {
  assert(options.samples >= 1 && options.samples <= 64 && "a set of samples is one word");
  assert(values.size() == target.shapes.size() && "each shape has a value");
  std::size_t models = 0;
  for (const NodeClass& node_class : node_classes) {
    const NodeState& empty = node_class.empty;
    if (empty.gpu_count == 0) continue;  // worth nothing, and never looked up
    cpu_steps_ = std::max(cpu_steps_, grid_.rounded_down(empty.free_cpu));
    most_gpus_ = std::max<std::size_t>(most_gpus_, empty.gpu_count);
    models = std::max<std::size_t>(models, empty.model.value + 1U);
  }
  for (std::size_t i = 0; i < target.shapes.size(); ++i) {
    const Shape& shape = target.shapes[i].shape;
    if (shape.is_cpu_only() || values[i] <= 0) continue;
    const double popularity =
        static_cast<double>(target.shapes[i].count) / static_cast<double>(target.total);
    const double chance = -std::expm1(-options.horizon * popularity);
    const PackItem item{
        grid_.rounded_up(shape.cpu), static_cast<std::size_t>(shape.gpu_share.value),
        static_cast<std::size_t>(shape.gpu_count), static_cast<std::int32_t>(values[i]), i};
    const std::uint64_t samples = samples_with(shape, chance, options.samples);
    if (samples != 0) items_.push_back({item, shape.models, samples});
  }
  form_groups(models);
}

void NodeValue::form_groups(std::size_t models) {
  std::map<std::vector<bool>, std::uint32_t> by_access;
  for (std::size_t i = 0; i < models; ++i) {
    const GpuModelId model{static_cast<std::uint8_t>(i)};
    std::vector<bool> access;
    for (const Item& item : items_) access.push_back(item.models.accepts(model));
    const auto [at, is_new] =
        by_access.emplace(std::move(access), static_cast<std::uint32_t>(groups_.size()));
    if (is_new) groups_.emplace_back().model = model;
    group_of_.push_back(at->second);
  }
}

NodeValue::Group& NodeValue::prepared(std::uint32_t group) {
  if (!groups_[group].is_ready) prepare(groups_[group]);
  return groups_[group];
}

void NodeValue::prepare(Group& group) const {
  const auto accepted_in = [&](std::uint64_t samples) {
    std::vector<PackItem> accepted;
    for (const Item& item : items_) {
      if ((item.samples & samples) != 0 && item.models.accepts(group.model))
        accepted.push_back(item.item);
    }
    return accepted;
  };
  group.levels = ShareLevels{accepted_in(~std::uint64_t{0})};
  PackingTable table;
  for (int j = 0; j < options_.samples; ++j) {
    std::vector<PackItem> items = accepted_in(std::uint64_t{1} << j);
    prune_items(items);
    table.build(items, group.levels, cpu_steps_, most_gpus_);
    for (std::size_t level = 0; level < group.levels.size(); ++level) {
      group.first_rise.push_back(group.rises.size());
      append_rises(table.one_gpu(level), group.rises);
    }
    group.first_rise.push_back(group.rises.size());
    for (std::size_t free = 0; free <= most_gpus_; ++free) {
      const std::span<const std::int32_t> row = table.free_gpus(free);
      group.free_rows.insert(group.free_rows.end(), row.begin(), row.end());
    }
  }
  // Free shares of one level are equal, except that tasks of several GPUs need whole ones.
  const SeededRng rng{kSampleSeed};
  std::vector<ResidualKey> by_level{ResidualKey{}};
  for (std::size_t level = 1; level <= group.levels.size(); ++level) {
    SeededRng words = rng.fork(level);
    const std::uint64_t low = words.next();
    by_level.push_back({low, words.next()});
  }
  for (std::size_t free = 0; free < kWholeShare; ++free)
    group.keys.push_back(by_level[group.levels.level(free)]);
  group.keys.push_back(by_level.back());
  group.is_ready = true;
}

void NodeValue::append_row(const Group& group, std::span<const std::int16_t> free_gpu) {
  std::size_t whole = 0;
  std::vector<std::size_t> partial;
  for (const std::int16_t free : free_gpu) {
    const auto share = static_cast<std::size_t>(free);
    if (share == kWholeShare) {
      ++whole;
    } else if (group.levels.level(share) > 0) {
      partial.push_back(group.levels.level(share));
    }
  }
  std::vector<std::int64_t> sum(width(), 0);
  std::array<std::vector<std::int32_t>, 2> scratch;
  scratch.fill(std::vector<std::int32_t>(width()));
  const auto samples = static_cast<std::size_t>(options_.samples);
  for (std::size_t j = 0; j < samples; ++j) {
    std::span<const std::int32_t> current =
        std::span{group.free_rows}.subspan((j * (most_gpus_ + 1) + whole) * width(), width());
    std::size_t turn = 0;
    for (const std::size_t level : partial) {
      const std::size_t at = j * (group.levels.size() + 1) + level;
      const std::size_t first = group.first_rise[at];
      combine(current, std::span{group.rises}.subspan(first, group.first_rise[at + 1] - first),
              scratch[turn]);
      current = scratch[turn];
      turn = 1 - turn;
    }
    for (std::size_t c = 0; c < width(); ++c) sum[c] += current[c];
  }
  const std::int64_t half = options_.samples / 2;
  for (const std::int64_t all : sum)
    rows_.push_back(static_cast<std::int32_t>((all + half) / options_.samples));
}

std::size_t NodeValue::find(std::uint32_t group, const ResidualKey& key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (key.low ^ (key.low >> 29) ^ group * 0x9e3779b97f4a7c15ULL) & mask;
  while (slots_[slot].row != 0 && !(slots_[slot].key == key && slots_[slot].group == group)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NodeValue::make_room() {
  if (used_ >= options_.memo_entries) {
    slots_.assign(kFirstSlots, Slot{});
    rows_.clear();
    used_ = 0;
  }
  if (2 * used_ < slots_.size()) return;
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.row != 0) slots_[find(slot.group, slot.key)] = slot;
  }
}

std::span<const std::int32_t> NodeValue::row(GpuModelId model, const ResidualKey& key,
                                             std::span<const std::int16_t> free_gpu) {
  const std::uint32_t group = group_of_[model.value];
  std::size_t slot = find(group, key);
  if (slots_[slot].row == 0) {
    make_room();
    append_row(prepared(group), free_gpu);
    slot = find(group, key);
    slots_[slot] = {key, static_cast<std::uint32_t>(++used_), group};
  }
  return std::span{std::as_const(rows_)}.subspan((slots_[slot].row - 1) * width(), width());
}

std::int64_t NodeValue::value(const NodeState& node) {
  if (node.gpu_count == 0) return 0;
  const std::vector<ResidualKey>& by_share = keys(node.model);
  const auto free_gpu = std::span{node.free_gpu}.first(node.gpu_count);
  ResidualKey key;
  for (const std::int16_t free : free_gpu) key += by_share[static_cast<std::size_t>(free)];
  return row(node.model, key, free_gpu)[cpu_index(node.free_cpu)];
}

}  // namespace weir::schedule
