// SPDX-License-Identifier: Apache-2.0
//
// The variants (tensor degree and dimension) each operator may have in a stage whose operators are spread differently
// over its GPUs, and what it costs to change between them.
#pragma once

#include <vector>

#include "predict/training/iteration_costs.h"

namespace weir::plan {

// On a number of GPUs at a microbatch.
class MixedOps {
 public:
  // `allowed`: microbatch sizes a replica may have.
  MixedOps(const predict::IterationCosts& costs, int gpus, int microbatch,
           const std::vector<int>& allowed);

  int gpus() const { return gpus_; }
  int microbatch() const { return microbatch_; }
  int variants() const { return static_cast<int>(variants_.size()); }
  const PlanOp& variant(int v) const { return variants_[static_cast<std::size_t>(v)]; }
  const OpMeasure& measure(int op, int v) const {
    return costs_.measure(tables_[static_cast<std::size_t>(v)], op);
  }
  const OpMeasure* table(int v) const { return tables_[static_cast<std::size_t>(v)]; }
  // Between operator op - 1 and op, forward and backward.
  double reshard_us(int op, int from, int to) const {
    const auto n = variants_.size();
    return reshard_[(static_cast<std::size_t>(op) * n + static_cast<std::size_t>(from)) * n +
                    static_cast<std::size_t>(to)];
  }
  const predict::IterationCosts& costs() const { return costs_; }
  // Sending the last operator's output when the stage began with variant `first`.
  double send_us(int op, int first, int last, bool crosses) const;

 private:
  const predict::IterationCosts& costs_;
  int gpus_;
  int microbatch_;
  std::vector<PlanOp> variants_;
  std::vector<const OpMeasure*> tables_;
  std::vector<double> reshard_;
};

}  // namespace weir::plan
