// SPDX-License-Identifier: Apache-2.0
//
// What the rest of a node is worth to the tasks that are likely to come soon.
//
//   V(node) = mean over the samples j of  max over packings q of shapes in S_j that fit the node
//             of  sum over shapes m of  q[m] * v_m                                  [micro-GPU]
//
// v_m >= 0 is the value of one task of shape m. The sample S_j holds shape m with probability
// 1 - exp(-horizon * p_m), p_m its share of the expected tasks: the chance that at least one such
// task is among the next `horizon` arrivals. Rare shapes are therefore not counted on. Packings are
// exact in the GPUs, take CPU in whole steps (tasks rounded up, the node down), use a shape any
// number of times and ignore memory. Shapes that don't accept the node's GPU model are absent.
//
// Cost: a state seen before is one hash probe. A new (model, multiset of free shares) computes V
// for every amount of CPU, tens of microseconds; the first look-up of a model prepares its tables,
// milliseconds. The openb runs see 400 to 2,400 multisets.
//
// Promise: integers only once the samples are drawn; a value depends on the target workload, the
// values v and the options, never on earlier look-ups nor on the order of the shapes. A multiset is
// recognised by a sum of 128-bit random words: two of a million multisets share one with a chance
// below 1e-25.
// Limits: v_m at most 1e6 micro-GPU per GPU of the shape. Not thread safe: a look-up may add to
// the memo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/target_workload.h"
#include "schedule/node_state.h"
#include "schedule/place/node_packing.h"
#include "schedule/place/placement_policy.h"

namespace weir::schedule {

struct NodeValueOptions {
  int samples = 16;                   // 1..64
  double horizon = 100;               // arrivals
  std::size_t memo_entries = 65'536;  // multisets kept, about 1 KiB each; then the memo starts anew
};

// Identifies a multiset of free shares on GPUs of one model. Keys add up: the key of a node is the
// sum of the keys of its GPUs.
struct ResidualKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  ResidualKey& operator+=(const ResidualKey& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  ResidualKey& operator-=(const ResidualKey& other) {
    low -= other.low;
    high -= other.high;
    return *this;
  }
  friend bool operator==(const ResidualKey&, const ResidualKey&) = default;
};

class NodeValue {
 public:
  // `values[i]` is v of target.shapes[i], in micro-GPU. `node_classes` are all nodes there are.
  NodeValue(const TargetWorkload& target, std::span<const std::int64_t> values,
            std::span<const NodeClass> node_classes, const NodeValueOptions& options = {});

  // V in micro-GPU.
  std::int64_t value(const NodeState& node);

  // The same in pieces, for callers that try changes of one node. Requires: the node has GPUs.
  // The keys of one GPU, by free share 0..1000.
  const std::vector<ResidualKey>& keys(GpuModelId model) {
    return prepared(group_of_[model.value]).keys;
  }
  // V by CPU steps; holds until the next call of row() or value(). `free_gpu` has the shares that
  // make the key; it is read only when the key is new.
  std::span<const std::int32_t> row(GpuModelId model, const ResidualKey& key,
                                    std::span<const std::int16_t> free_gpu);
  std::size_t cpu_index(MilliCpu free_cpu) const { return grid_.rounded_down(free_cpu); }

 private:
  struct Item {
    PackItem item;
    GpuModelSet models;
    std::uint64_t samples = 0;  // bit j: the shape is in S_j
  };
  // GPU models that all items treat alike.
  struct Group {
    GpuModelId model;  // one of them
    bool is_ready = false;
    ShareLevels levels;
    std::vector<ResidualKey> keys;
    // By sample: the rises of one GPU per share level, and the rows of 0..most_gpus_ free GPUs.
    std::vector<RowStep> rises;
    std::vector<std::size_t> first_rise;  // sample * (levels + 1) + level
    std::vector<std::int32_t> free_rows;  // (sample * (most_gpus_ + 1) + free) * width()
  };
  struct Slot {
    ResidualKey key;
    std::uint32_t row = 0;  // 1 + position, 0 = unused
    std::uint32_t group = 0;
  };

  std::size_t width() const { return cpu_steps_ + 1; }
  void form_groups(std::size_t models);
  Group& prepared(std::uint32_t group);
  void prepare(Group& group) const;
  void append_row(const Group& group, std::span<const std::int16_t> free_gpu);
  // Its slot, or the free one for it.
  std::size_t find(std::uint32_t group, const ResidualKey& key) const;
  void make_room();

  NodeValueOptions options_;
  CpuGrid grid_;
  std::size_t cpu_steps_ = 0;  // of the largest node
  std::size_t most_gpus_ = 0;
  std::vector<Item> items_;
  std::vector<std::uint32_t> group_of_;  // by model
  std::vector<Group> groups_;

  std::vector<Slot> slots_;         // open addressing, a power of two
  std::vector<std::int32_t> rows_;  // width() each
  std::size_t used_ = 0;
};

}  // namespace weir::schedule
