// SPDX-License-Identifier: Apache-2.0
#include "plan/training/mixed_ops.h"

#include <algorithm>
#include <limits>

#include "plan/training/container_index.h"

namespace weir::plan {

using predict::IterationCosts;

MixedOps::MixedOps(const IterationCosts& costs, int gpus, int microbatch,
                   const std::vector<int>& allowed)
    : costs_{costs}, gpus_{gpus}, microbatch_{microbatch} {
  for (int tp = 1; tp <= std::min(gpus, costs.cluster().gpus_per_node); tp *= 2) {
    const int dp = gpus / tp;
    if (microbatch % dp != 0 || std::ranges::find(allowed, microbatch / dp) == allowed.end())
      continue;
    const int dims = tp == 1 && costs.options().one_measurement_at_tp1 ? 1 : 2;
    for (int dim = 0; dim < dims; ++dim) {
      const OpMeasure* rows = costs.rows({microbatch / dp, tp, dim});
      if (rows == nullptr) continue;
      variants_.push_back({static_cast<std::int16_t>(tp), static_cast<std::int16_t>(dp),
                           static_cast<std::int8_t>(dim), false});
      tables_.push_back(rows);
    }
  }
  reshard_.assign(at(costs.ops().size()) * variants_.size() * variants_.size(), 0);
  std::size_t place = variants_.size() * variants_.size();
  for (int op = 1; op < costs.ops().size(); ++op) {
    for (const PlanOp& from : variants_) {
      for (const PlanOp& to : variants_) {
        const auto time = costs.reshard_us(op, from, to, microbatch);
        reshard_[place++] = time.forward + time.backward;
      }
    }
  }
}

double MixedOps::send_us(int op, int first, int last, bool crosses) const {
  PlanOp at_end = variant(last);
  // The artifact looks up the last output with the first operator's degree.
  if (costs_.options().model == predict::CostModel::published) at_end.tp = variant(first).tp;
  const OpMeasure* rows = costs_.rows({microbatch_ / at_end.dp, at_end.tp, at_end.dim});
  const double mib = rows == nullptr ? std::numeric_limits<double>::infinity()
                                     : costs_.measure(rows, op).output_mib;
  return costs_.send_us(op, mib, crosses);
}

}  // namespace weir::plan
