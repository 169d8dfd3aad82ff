// SPDX-License-Identifier: Apache-2.0
//
// Fragmentation gradient descent (Weng et al., USENIX ATC 2023): place each task where it makes the
// least new fragment, or removes the most.
#pragma once

#include "schedule/place/placement_policy.h"

namespace weir::schedule {

class FgdPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
  bool uses_target() const override { return true; }
};

// FGD that also knows the supply. Three changes (measured in docs/models/fragmentation.md):
// - a shape that only some models can serve counts C / C_m times, with C the cluster's GPU capacity
//   and C_m that of the models it accepts: unconstrained tasks stop eating scarce models;
// - CPU that idle GPUs will need is not free: the gain is lowered by a tenth of the GPU share that
//   the placement leaves without its CPU, at the expected CPU per GPU;
// - breaking a block of whole GPUs costs at most 50 milli-GPU, so that it cannot drown the CPU term
// where
//   tasks with many GPUs are common.
// It no longer depends on a lucky node order.
class FgdPlusPolicy final : public PlacementPolicy {
 public:
  std::unique_ptr<NodeScorer> prepare(const Outlook& outlook) const override;
  bool uses_target() const override { return true; }
};

}  // namespace weir::schedule
