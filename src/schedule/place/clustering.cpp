// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/clustering.h"

#include "schedule/place/largest_node.h"

namespace weir::schedule {
namespace {

class ClusteringScorer final : public NodeScorer {
 public:
  explicit ClusteringScorer(LargestNode unit) : unit_{unit} {}

  Score score(const NodeState& node, const Shape& shape) const override {
    if (shape.is_cpu_only()) return 0;
    const std::int64_t in_use = 25 * (unit_.gpu - node.free_gpu_total().value) / unit_.gpu;
    return static_cast<Score>(in_use + company(node, kind_of(shape)));
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    return tightest_gpus(node, shape);
  }

 private:
  static int company(const NodeState& node, TaskKind kind) {
    bool has_others = false;
    for (int other = 0; other < kTaskKinds; ++other) {
      if (other != static_cast<int>(kind))
        has_others |= node.gpu_tasks[static_cast<std::size_t>(other)] > 0;
    }
    const bool has_kind = node.gpu_tasks[static_cast<std::size_t>(kind)] > 0;
    if (has_kind) return has_others ? 50 : 75;
    return has_others ? 0 : 25;
  }

  LargestNode unit_;
};

}  // namespace

std::unique_ptr<NodeScorer> ClusteringPolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<ClusteringScorer>(LargestNode::of(outlook));
}

}  // namespace weir::schedule
