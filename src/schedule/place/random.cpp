// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/random.h"

#include <cassert>

namespace weir::schedule {
namespace {

class RandomScorer final : public NodeScorer {
 public:
  Score score(const NodeState&, const Shape&) const override { return 0; }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape,
                      std::uint64_t draw) const override {
    if (!shape.shares_gpu()) return first_whole_gpus(node, shape.gpu_count);
    std::uint64_t fitting = 0;
    for (const std::int16_t free : node.free_gpu)
      fitting += free >= shape.gpu_share.value ? 1U : 0U;
    assert(fitting > 0 && "the task must fit");
    std::uint64_t skip = draw % fitting;  // at most 16 of 2^64: the bias is nil
    GpuMask mask;
    for (int gpu = 0; mask.count() == 0; ++gpu) {
      if (node.free_gpu[static_cast<std::size_t>(gpu)] < shape.gpu_share.value) continue;
      if (skip-- == 0) mask.insert(gpu);
    }
    return mask;
  }
};

}  // namespace

std::unique_ptr<NodeScorer> RandomPolicy::prepare(const Outlook&) const {
  return std::make_unique<RandomScorer>();
}

}  // namespace weir::schedule
