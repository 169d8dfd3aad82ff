// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/blend.h"

#include <algorithm>

#include "schedule/place/relative_scorer.h"

namespace weir::schedule {
namespace {

using Scorers = std::vector<std::unique_ptr<NodeScorer>>;

class BlendScorer final : public RelativeScorer {
 public:
  // `leader`: whose GPUs are taken.
  BlendScorer(std::vector<Part> weights, Scorers scorers, std::size_t leader)
      : RelativeScorer{std::move(weights)}, scorers_{std::move(scorers)}, leader_{leader} {}

  Score score(const NodeState& node, const Shape& shape) const override {
    std::int64_t sum = 0;
    std::int64_t weights = 0;
    for (std::size_t part = 0; part < scorers_.size(); ++part) {
      sum += parts()[part].weight * scorers_[part]->score(node, shape);
      weights += parts()[part].weight;
    }
    return static_cast<Score>(sum / weights);
  }

  void mark(NodeIndex index, const NodeState& node, const Shape& shape,
            std::span<std::int32_t> marks) const override {
    for (std::size_t part = 0; part < scorers_.size(); ++part) {
      if (const RelativeScorer* relative = scorers_[part]->relative()) {
        relative->mark(index, node, shape, marks.subspan(part, 1));
      } else {
        marks[part] = scorers_[part]->score(node, shape);
      }
    }
  }

  GpuMask choose_gpus(const NodeState& node, const Shape& shape,
                      std::uint64_t draw) const override {
    return scorers_[leader_]->choose_gpus(node, shape, draw);
  }

 private:
  Scorers scorers_;
  std::size_t leader_;
};

}  // namespace

std::unique_ptr<NodeScorer> BlendPolicy::prepare(const Outlook& outlook) const {
  std::vector<RelativeScorer::Part> weights;
  Scorers scorers;
  std::size_t leader = 0;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    scorers.push_back(parts_[part].policy->prepare(outlook));
    weights.push_back({parts_[part].weight, scorers.back()->relative() != nullptr});
    if (parts_[part].weight > parts_[leader].weight) leader = part;
  }
  return std::make_unique<BlendScorer>(std::move(weights), std::move(scorers), leader);
}

bool BlendPolicy::uses_target() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.policy->uses_target(); });
}

}  // namespace weir::schedule
