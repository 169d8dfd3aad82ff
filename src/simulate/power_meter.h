// SPDX-License-Identifier: Apache-2.0
//
// Keeps what the nodes draw up to date as tasks come and go, by the constants of power-aware
// placement (schedule/place/node_power.h).
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/core/cluster_layout.h"
#include "schedule/place/node_power.h"
#include "schedule/place/node_view.h"

namespace weir::simulate {

class PowerMeter {
 public:
  PowerMeter(const schedule::ClusterLayout& layout, const schedule::NodeTable& nodes)
      : power_{layout.supply, layout.empty}, by_node_(nodes.size()) {
    for (std::uint32_t i = 0; i < nodes.size(); ++i) update(nodes, NodeIndex{i});
  }

  void update(const schedule::NodeTable& nodes, NodeIndex node) {
    const std::int64_t now = power_.watts(node, nodes[node.value]);
    total_ += now - by_node_[node.value];
    by_node_[node.value] = now;
  }

  std::int64_t watts() const { return total_; }

 private:
  schedule::NodePower power_;
  std::vector<std::int64_t> by_node_;
  std::int64_t total_ = 0;
};

}  // namespace weir::simulate
