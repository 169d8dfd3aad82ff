// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/pwr.h"

#include "schedule/place/node_power.h"
#include "schedule/place/relative_scorer.h"

namespace weir::schedule {
namespace {

// For a share: the first GPU in use that has room, else the first.
GpuMask first_gpu_in_use(const NodeState& node, const Shape& shape) {
  int chosen = -1;
  for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
    const std::int16_t free = node.free_gpu[static_cast<std::size_t>(gpu)];
    if (free < shape.gpu_share.value) continue;
    const bool is_in_use = free < kWholeGpu.value;
    if (chosen < 0 || is_in_use) chosen = gpu;
    if (is_in_use) break;
  }
  GpuMask mask;
  mask.insert(chosen);
  return mask;
}

class PwrScorer final : public RelativeScorer {
 public:
  explicit PwrScorer(const Outlook& outlook)
      : RelativeScorer{{{1, true}}}, power_{outlook.supply, outlook.empty} {}

  Score score(const NodeState&, const Shape&) const override { return kBestRescaled; }

  void mark(NodeIndex index, const NodeState& node, const Shape& shape,
            std::span<std::int32_t> marks) const override {
    marks[0] = -power_.increase(index, node, shape);
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    return shape.shares_gpu() ? first_gpu_in_use(node, shape)
                              : first_whole_gpus(node, shape.gpu_count);
  }

 private:
  NodePower power_;
};

}  // namespace

std::unique_ptr<NodeScorer> PwrPolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<PwrScorer>(outlook);
}

}  // namespace weir::schedule
