// SPDX-License-Identifier: Apache-2.0
//
// Which measurement each operator of a stage uses: one table for all, or one for each operator.
#pragma once

#include <cstdint>
#include <span>

#include "predict/training/iteration_costs.h"

namespace weir::plan {

// Told apart by OpMeasures::signature().
inline constexpr int kMostVariants = 8;

class OpMeasures {
 public:
  // All operators at one variant.
  OpMeasures(const OpMeasure* rows) : rows_{rows} {}  // NOLINT: a table is the usual case
  // By operator of the model; `variants` names the variant of each with a number below 8.
  OpMeasures(std::span<const OpMeasure* const> by_op, std::span<const std::uint8_t> variants)
      : by_op_{by_op}, variants_{variants} {}

  const OpMeasure& of(const predict::IterationCosts& costs, int op) const {
    return rows_ != nullptr ? costs.measure(rows_, op) : *by_op_[static_cast<std::size_t>(op)];
  }
  // Equal for equal variants of operators [first, end), at most 21 of them.
  std::uint64_t signature(int first, int end) const {
    std::uint64_t value = 0;
    if (rows_ != nullptr) return value;
    for (int op = first; op < end; ++op) {
      value = value << 3 | variants_[static_cast<std::size_t>(op)];
    }
    return value;
  }

 private:
  const OpMeasure* rows_ = nullptr;
  std::span<const OpMeasure* const> by_op_;
  std::span<const std::uint8_t> variants_;
};

}  // namespace weir::plan
