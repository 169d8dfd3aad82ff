// SPDX-License-Identifier: Apache-2.0
//
// The nodes as a decision sees them while it tries something: the state's nodes, with a few changes
// laid over them. The state itself stays untouched, so a trial needs no undoing.
#pragma once

#include <utility>
#include <vector>

#include "domain/ids.h"
#include "schedule/node_state.h"
#include "schedule/paged_table.h"

namespace weir::schedule {

using NodeTable = PagedTable<NodeState>;

class NodeView {
 public:
  explicit NodeView(const NodeTable& nodes) : nodes_{nodes} {}

  std::size_t size() const { return nodes_.size(); }

  const NodeState& operator[](NodeIndex node) const {
    if (!changed_.empty()) [[unlikely]] {
      for (const auto& [index, state] : changed_) {
        if (index == node) return state;
      }
    }
    return nodes_[node.value];
  }

  // Lays a task over the node. Requires: fits.
  void take(NodeIndex node, const Shape& shape, GpuMask gpus) {
    for (auto& [index, state] : changed_) {
      if (index == node) return schedule::take(state, shape, gpus);
    }
    changed_.emplace_back(node, nodes_[node.value]);
    schedule::take(changed_.back().second, shape, gpus);
  }

  const std::vector<std::pair<NodeIndex, NodeState>>& changed() const { return changed_; }

 private:
  const NodeTable& nodes_;
  std::vector<std::pair<NodeIndex, NodeState>> changed_;
};

}  // namespace weir::schedule
