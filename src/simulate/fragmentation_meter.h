// SPDX-License-Identifier: Apache-2.0
//
// Keeps the cluster's expected fragment up to date as nodes change, for reports. It measures
// against the oracle target workload with its plain counts, whatever the policy believes.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/place/fragmentation.h"
#include "schedule/place/node_view.h"

namespace weir::simulate {

class FragmentationMeter {
 public:
  FragmentationMeter(const TargetWorkload& target, const schedule::NodeTable& nodes)
      : measure_{target}, by_node_(nodes.size()) {
    for (std::uint32_t i = 0; i < nodes.size(); ++i) update(nodes, NodeIndex{i});
  }

  void update(const schedule::NodeTable& nodes, NodeIndex node) {
    const std::int64_t now = measure_.weighted(nodes[node.value]);
    total_ += now - by_node_[node.value];
    by_node_[node.value] = now;
  }

  // Micro-GPU (1/1000 milli-GPU), rounded down.
  std::int64_t micro_gpu() const {
    __extension__ using Wide = __int128;
    const std::int64_t weight = measure_.total_weight();
    return weight == 0 ? 0 : static_cast<std::int64_t>(static_cast<Wide>(total_) * 1000 / weight);
  }

 private:
  schedule::Fragmentation measure_;
  std::vector<std::int64_t> by_node_;
  std::int64_t total_ = 0;
};

}  // namespace weir::simulate
