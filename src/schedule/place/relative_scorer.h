// SPDX-License-Identifier: Apache-2.0
//
// A scorer that cannot tell a node's score from the node alone: marks of some kinds are rescaled,
// from the worst to the best of the nodes that fit, before they are weighed and added. Its score() is
// that of a node beside which there is no other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

// Of the best, and of all where they are equal.
inline constexpr Score kBestRescaled = 100;

class RelativeScorer : public NodeScorer {
 public:
  struct Part {
    std::int64_t weight = 1;
    bool is_rescaled = false;  // to 0..kBestRescaled
  };
  explicit RelativeScorer(std::vector<Part> parts) : parts_{std::move(parts)} {}

  const std::vector<Part>& parts() const { return parts_; }

  // One mark of each part; higher is better. Requires: fits(node, shape).
  virtual void mark(NodeIndex index, const NodeState& node, const Shape& shape,
                    std::span<std::int32_t> marks) const = 0;

  const RelativeScorer* relative() const final { return this; }

 private:
  std::vector<Part> parts_;
};

// What is known of each node: whether the task fits, and if so its marks.
struct MarkedNodes {
  std::vector<std::uint8_t> fits;
  std::vector<std::int32_t> marks;  // node after node
};

struct BestMarked {
  std::size_t node = 0;
  Score score = 0;
};

// The first of the best; nothing where the task fits nowhere.
std::optional<BestMarked> best_marked(const RelativeScorer& scorer, const MarkedNodes& nodes);

}  // namespace weir::schedule
