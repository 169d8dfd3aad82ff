// SPDX-License-Identifier: Apache-2.0
//
// Gradient-boosted regression trees: each tree is fitted to what the trees before it left over, and a small part of
// it is added. Near misses count by their square, far ones by their size (Huber), so that a kernel which the
// library rarely chooses does not move all its neighbours. Values are looked at in at most 64 steps of equal count, so a fit takes
// time in proportion to rows x features. Deterministic: ties go to the first feature and the lowest threshold.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "domain/kernel_model.h"

namespace weir::predict {

struct BoostingOptions {
  int trees = 100;
  int depth = 4;
  double rate = 0.2;
  int least_leaf = 20;
  double far = 0.2;  // misses above this count alike where to split
};

// Requires: rows.size() = targets.size() x features, all finite.
BoostedTrees fit_boosted_trees(std::span<const float> rows, std::size_t features,
                               std::span<const double> targets, const BoostingOptions& options);

// Requires: a value for each feature that the trees were fitted to.
double boosted_value(const BoostedTrees& trees, std::span<const float> values);

}  // namespace weir::predict
