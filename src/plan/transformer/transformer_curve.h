// SPDX-License-Identifier: Apache-2.0
//
// How fast a transformer would be on several numbers of GPUs: the best plan at each, searched on its own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "domain/curve.h"
#include "plan/transformer/transformer_search.h"

namespace weir::plan {

struct PlannedSize {
  int gpus = 0;
  std::optional<TransformerChoice> best;  // nothing when no plan fits
  // Without a plan: bytes of the smallest that is too large; 0: the GPUs cannot be divided for this batch, sequence and
  // pins at all.
  double least_memory = 0;
};
std::vector<PlannedSize> plan_sizes(const TransformerRequest& request, std::span<const int> sizes);

// What a scheduler gives, up to `largest`: powers of two that are a part of a node or whole nodes.
std::vector<int> sizes_of_a_pool(int gpus_per_node, int largest);

// Of the origin planned; sizes on which nothing fits are not in it.
Curve planned_curve(std::span<const PlannedSize> sizes);

}  // namespace weir::plan
