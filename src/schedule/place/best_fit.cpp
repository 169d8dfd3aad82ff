// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/best_fit.h"

#include "schedule/place/largest_node.h"

namespace weir::schedule {
namespace {

class BestFitScorer final : public NodeScorer {
 public:
  explicit BestFitScorer(LargestNode unit) : unit_{unit} {}

  Score score(const NodeState& node, const Shape& shape) const override {
    const std::int64_t cpu = node.free_cpu.value - shape.cpu.value;
    const std::int64_t gpu = node.free_gpu_total().value - shape.gpu_total().value;
    const std::int64_t whole = 2 * unit_.cpu * unit_.gpu;
    return static_cast<Score>(100 * (whole - cpu * unit_.gpu - gpu * unit_.cpu) / whole);
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    return tightest_gpus(node, shape);
  }

 private:
  LargestNode unit_;
};

}  // namespace

std::unique_ptr<NodeScorer> BestFitPolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<BestFitScorer>(LargestNode::of(outlook));
}

}  // namespace weir::schedule
