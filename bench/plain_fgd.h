// SPDX-License-Identifier: Apache-2.0
//
// FGD as one would first write it: look at every node, try every GPU, sum over all expected shapes;
// the fragment of each node is kept between tasks. The peer of the indexed implementation.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/target_workload.h"
#include "schedule/node_state.h"

namespace weir::bench {

class PlainFgd {
 public:
  PlainFgd(std::vector<schedule::NodeState> nodes, const TargetWorkload& target);

  // Places the task; false when no node has room.
  bool place(const Shape& shape);

 private:
  double fragment(const schedule::NodeState& node) const;

  std::vector<schedule::NodeState> nodes_;
  const TargetWorkload& target_;
  std::vector<double> fragments_;  // by node
};

}  // namespace weir::bench
