// SPDX-License-Identifier: Apache-2.0
//
// As early as a budget of carbon, money or power allows: promises first, as under `weir`; the other
// jobs on the sizes and clocks that cost least when energy has a price (docs/models/energy.md).
#pragma once

#include "schedule/policies/weir_policy.h"

namespace weir::schedule {

class GreenPolicy final : public TrainingPolicy {
 public:
  bool makes_promises() const override { return true; }
  // Under a power cap GPUs are promised only on as many nodes as may draw all they can.
  Verdict judge(const PoolView& view, const TrainingJob& job) const override;
  Allocation allocate(const PoolView& view) const override;
  std::vector<Mended> mend(const PoolView& view, JobId job) const override;
  std::vector<Mended> mend_all(const PoolView& view) const override;
  std::vector<JobId> to_confirm(const PoolView& view) const override {
    return promises_.to_confirm(view);
  }

 private:
  WeirPolicy promises_;
};

}  // namespace weir::schedule
