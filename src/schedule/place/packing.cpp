// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/packing.h"

#include <algorithm>

namespace weir::schedule {
namespace {

constexpr int kIdleNode = 33;
constexpr int kFreeGpu = 50;
constexpr int kGpuInUse = 100;

class PackingScorer final : public NodeScorer {
 public:
  Score score(const NodeState& node, const Shape& shape) const override {
    if (shape.is_cpu_only()) return 0;
    const int gpus = node.gpu_count;
    if (node.whole_free_gpus() == gpus) return static_cast<Score>(std::max(kIdleNode - gpus, gpus));
    if (!shape.shares_gpu())
      return static_cast<Score>(std::max(kFreeGpu - shape.gpu_count, kIdleNode));
    const int free = tightest_free(node, shape);
    if (free == kWholeGpu.value) return static_cast<Score>(kFreeGpu - 1);
    return static_cast<Score>(std::max(kGpuInUse - free / 100, kFreeGpu));
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    return tightest_gpus(node, shape);
  }

 private:
  static int tightest_free(const NodeState& node, const Shape& shape) {
    int tightest = static_cast<int>(kWholeGpu.value);
    for (const std::int16_t free : node.free_gpu) {
      if (free >= shape.gpu_share.value) tightest = std::min<int>(tightest, free);
    }
    return tightest;
  }
};

}  // namespace

std::unique_ptr<NodeScorer> PackingPolicy::prepare(const Outlook&) const {
  return std::make_unique<PackingScorer>();
}

}  // namespace weir::schedule
