// SPDX-License-Identifier: Apache-2.0
//
// Exact packing of valued items into one node: the shared core of the configuration programme and
// of the node value.
//
// A node offers CPU, counted in whole steps, and GPUs with 0..1000 milli free each. An item takes
// CPU steps and either a share of one GPU (gpus == 1) or several whole GPUs (gpus > 1). An item may
// be used any number of times; memory is ignored. The GPUs of a node meet only in its CPU, so with
// rows (best value as a function of CPU steps)
//
//   H[l](c) = max over one-GPU items i of  value_i + H[level(share_l - share_i)](c - cpu_i), or 0
//   F[f](c) = max( max_c' F[f-1](c - c') + H[whole](c'),
//                  max over items i with gpus_i > 1 of  value_i + F[f - gpus_i](c - cpu_i) )
//
// are exact for one GPU at share level l and for f whole free GPUs. Values are integers in a unit
// of the caller's choice; the best sum must stay below 2^31.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/units.h"

namespace weir::schedule {

// CPU in whole steps: half a core, or more where a node has more than kMostSteps / 2 cores.
class CpuGrid {
 public:
  static constexpr std::size_t kMostSteps = 1024;  // of the largest node

  explicit CpuGrid(MilliCpu largest_node);

  // What does not fit the largest node counts as kMostSteps + 1.
  std::size_t rounded_down(MilliCpu cpu) const { return capped(cpu.value / step_); }
  std::size_t rounded_up(MilliCpu cpu) const { return capped((cpu.value + step_ - 1) / step_); }

 private:
  static constexpr std::int64_t kFinestStep = 500;  // milli-CPU

  static std::size_t capped(std::int64_t steps) {
    constexpr auto kTooMany = static_cast<std::int64_t>(kMostSteps + 1);
    return static_cast<std::size_t>(steps < kTooMany ? steps : kTooMany);
  }

  std::int64_t step_;
};

inline constexpr auto kWholeShare = static_cast<std::size_t>(kWholeGpu.value);

struct PackItem {
  std::size_t cpu = 0;        // steps
  std::size_t gpu_share = 0;  // milli, of each GPU; 1..kWholeShare
  std::size_t gpus = 0;       // 1 or more
  std::int32_t value = 0;     // of the whole item
  std::size_t id = 0;         // the caller's
};

// Removes items of no value and items for which another is no larger and no less valuable; of
// equals the one with the lowest id stays. Sorts the rest.
void prune_items(std::vector<PackItem>& items);

// The free shares of one GPU that differ for packing: the sums <= 1000 of the items' shares. A GPU
// with r milli free is worth exactly what one with share(level(r)) is worth.
class ShareLevels {
 public:
  explicit ShareLevels(std::span<const PackItem> items = {});  // items with gpus > 1 don't count

  std::size_t level(std::size_t free_share) const { return level_[free_share]; }
  std::size_t share(std::size_t level) const { return share_[level]; }
  std::size_t size() const { return share_.size(); }
  std::size_t whole() const { return level_.back(); }

 private:
  std::vector<std::size_t> level_;  // by free share, 0..1000
  std::vector<std::size_t> share_;  // ascending from 0
};

// One rise of a row: `value` is reached with `cpu` steps. The point (0, 0) is implied.
struct RowStep {
  std::uint32_t cpu = 0;
  std::int32_t value = 0;
};

// Appends the rises of a nondecreasing row.
void append_rises(std::span<const std::int32_t> row, std::vector<RowStep>& rises);

// Best of two independent parts that share the CPU: target(c) = max_c' source(c - c') + row(c').
// `rises` are those of row. Requires: source and target don't overlap and are equally long.
void combine(std::span<const std::int32_t> source, std::span<const RowStep> rises,
             std::span<std::int32_t> target);

// The rows H and F of one set of items.
class PackingTable {
 public:
  // `cpu_steps`: the most CPU asked for; `most_free`: the most whole free GPUs.
  void build(std::span<const PackItem> items, const ShareLevels& levels, std::size_t cpu_steps,
             std::size_t most_free);

  std::span<const std::int32_t> one_gpu(std::size_t level) const { return row(one_gpu_, level); }
  std::span<const std::int32_t> free_gpus(std::size_t count) const { return row(free_, count); }

  // One best packing into `free` whole GPUs and `cpu` steps, as positions in `items`, with
  // repetition. Requires: items and levels are those of build().
  std::vector<std::size_t> recover(std::span<const PackItem> items, const ShareLevels& levels,
                                   std::size_t free, std::size_t cpu) const;

 private:
  std::span<const std::int32_t> row(const std::vector<std::int32_t>& rows, std::size_t i) const {
    return std::span{rows}.subspan(i * width_, width_);
  }
  std::span<std::int32_t> row(std::vector<std::int32_t>& rows, std::size_t i) {
    return std::span{rows}.subspan(i * width_, width_);
  }
  void recover_one_gpu(std::span<const PackItem> items, const ShareLevels& levels, std::size_t cpu,
                       std::vector<std::size_t>& chosen) const;

  std::size_t width_ = 1;  // CPU steps + 1
  std::vector<std::int32_t> one_gpu_;
  std::vector<std::int32_t> free_;
  std::vector<RowStep> rises_;  // of H[whole]
};

}  // namespace weir::schedule
