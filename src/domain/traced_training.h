// SPDX-License-Identifier: Apache-2.0
//
// One training iteration as PyTorch's operators, written down without running it (tools/collect/trace_model.py --model).
// Only operators that launch kernels are in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "domain/training_phase.h"

namespace weir {

struct TracedTensor {
  std::string dtype{};                  // "bf16", "fp32", "int64", "bool"
  std::vector<std::int64_t> shape{};    // empty: one number
  std::vector<std::int64_t> strides{};  // in numbers; empty: row by row without gaps

  friend bool operator==(const TracedTensor&, const TracedTensor&) = default;
};

struct TracedOp {
  TrainingPhase phase = TrainingPhase::forward;
  std::string op{};  // "aten::mm"
  std::int64_t count = 1;
  std::vector<TracedTensor> inputs{};
  std::vector<TracedTensor> outputs{};
  // Whole numbers among the arguments, by name; true is 1.
  std::map<std::string, std::vector<std::int64_t>, std::less<>> arguments{};

  friend bool operator==(const TracedOp&, const TracedOp&) = default;
};

struct TracedTraining {
  std::string model{};
  std::int64_t batch = 0;
  std::string torch{};  // version
  std::int64_t parameters = 0;
  std::int64_t tensors = 0;     // of parameters
  std::vector<TracedOp> ops{};  // equal calls of a phase are one entry

  friend bool operator==(const TracedTraining&, const TracedTraining&) = default;
};

}  // namespace weir
