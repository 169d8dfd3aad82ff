// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/policies.h"

#include <algorithm>
#include <array>

#include "schedule/place/best_fit.h"
#include "schedule/place/clustering.h"
#include "schedule/place/dot_product.h"
#include "schedule/place/expected_value.h"
#include "schedule/place/fgd.h"
#include "schedule/place/packing.h"
#include "schedule/place/pwr.h"
#include "schedule/place/random.h"

namespace weir::schedule {
namespace {

const RandomPolicy kRandom;
const DotProductPolicy kDotProduct;
const ClusteringPolicy kClustering;
const PackingPolicy kPacking;
const BestFitPolicy kBestFit;
const FgdPolicy kFgd;
const FgdPlusPolicy kFgdPlus;
const ExpectedValuePolicy kExpectedValue;
const PwrPolicy kPwr;

constexpr std::string_view kFgdPaper = "Weng et al., USENIX ATC 2023";

const std::array kPlacementPolicies{
    PolicyRow{"random", "Any node and any GPU that fits", kFgdPaper, &kRandom},
    PolicyRow{"dot-product", "The node whose free resources align least with the task", kFgdPaper,
              &kDotProduct},
    PolicyRow{"clustering", "Keeps tasks with the same number of GPUs together", kFgdPaper,
              &kClustering},
    PolicyRow{"packing", "GPUs in use first, then nodes in use, then idle nodes", kFgdPaper,
              &kPacking},
    PolicyRow{"best-fit", "The node with the least CPU and GPU left after placing", kFgdPaper,
              &kBestFit},
    PolicyRow{"pwr", "Where the node's power rises least", "Lettich et al., CCGrid 2025", &kPwr},
    PolicyRow{"fgd", "Where the task adds the least fragment for the tasks to come", kFgdPaper,
              &kFgd},
    PolicyRow{"fgd-plus",
              "FGD that also minds scarce GPU models and the CPU that idle GPUs will need",
              "weir, docs/models/fragmentation.md", &kFgdPlus},
    PolicyRow{"ev-plus", "Where the node loses the least value for the tasks likely to come next",
              "weir, docs/models/fragmentation.md", &kExpectedValue},
};

}  // namespace

std::span<const PolicyRow> placement_policies() {
  return kPlacementPolicies;
}

const PlacementPolicy* find_placement_policy(std::string_view name) {
  const auto row =
      std::find_if(kPlacementPolicies.begin(), kPlacementPolicies.end(),
                   [name](const PolicyRow& candidate) { return candidate.name == name; });
  return row == kPlacementPolicies.end() ? nullptr : row->policy;
}

}  // namespace weir::schedule
