// SPDX-License-Identifier: Apache-2.0
#include "plain_fgd.h"

#include <cmath>

#include "schedule/place/fragmentation.h"

namespace weir::bench {

using schedule::NodeState;

PlainFgd::PlainFgd(std::vector<NodeState> nodes, const TargetWorkload& target)
    : nodes_{std::move(nodes)}, target_{target} {
  for (const NodeState& node : nodes_) fragments_.push_back(fragment(node));
}

double PlainFgd::fragment(const NodeState& node) const {
  double sum = 0;
  for (const ExpectedShape& expected : target_.shapes) {
    sum += static_cast<double>(expected.count) *
           static_cast<double>(schedule::fragment_for(node, expected.shape));
  }
  return sum / static_cast<double>(target_.total);
}

bool PlainFgd::place(const Shape& shape) {
  int best_score = -1;
  std::size_t best_node = 0;
  NodeState best_after;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    if (!schedule::fits(node, shape)) continue;
    const auto consider = [&](GpuMask gpus) {
      NodeState after = node;
      schedule::take(after, shape, gpus);
      const double gain = fragments_[i] - fragment(after);
      const int score = static_cast<int>(100.0 / (1.0 + std::exp(-gain / 1000.0)) + 1e-9);
      if (score <= best_score) return;
      best_score = score;
      best_node = i;
      best_after = after;
    };
    if (!shape.shares_gpu()) {
      consider(schedule::first_whole_gpus(node, shape.gpu_count));
      continue;
    }
    std::int16_t last_tried = -1;
    for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
      const std::int16_t free = node.free_gpu[static_cast<std::size_t>(gpu)];
      if (free < shape.gpu_share.value || free == last_tried) continue;
      last_tried = free;
      GpuMask mask;
      mask.insert(gpu);
      consider(mask);
    }
  }
  if (best_score < 0) return false;
  nodes_[best_node] = best_after;
  fragments_[best_node] = fragment(best_after);
  return true;
}

}  // namespace weir::bench
