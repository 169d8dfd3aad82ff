// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/dot_product.h"

#include <algorithm>

#include "schedule/place/largest_node.h"

namespace weir::schedule {
namespace {

class DotProductScorer final : public NodeScorer {
 public:
  explicit DotProductScorer(LargestNode unit) : unit_{unit} {}

  Score score(const NodeState& node, const Shape& shape) const override {
    const std::int64_t product =
        scaled(node.free_cpu.value, unit_.cpu) * scaled(shape.cpu.value, unit_.cpu) +
        scaled(node.free_gpu_total().value, unit_.gpu) * scaled(shape.gpu_total().value, unit_.gpu);
    const std::int64_t hundred = std::int64_t{100} << (2 * kFractionBits);
    return static_cast<Score>(std::max<std::int64_t>(0, hundred - 50 * product) >>
                              (2 * kFractionBits));
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape, std::uint64_t) const override {
    return tightest_gpus(node, shape);
  }

 private:
  static constexpr int kFractionBits = 20;
  static std::int64_t scaled(std::int64_t amount, std::int64_t unit) {
    return (amount << kFractionBits) / unit;
  }

  LargestNode unit_;
};

}  // namespace

std::unique_ptr<NodeScorer> DotProductPolicy::prepare(const Outlook& outlook) const {
  return std::make_unique<DotProductScorer>(LargestNode::of(outlook));
}

}  // namespace weir::schedule
