// SPDX-License-Identifier: Apache-2.0
//
// One operator of a trace on its way to calls whose times are known, and the tables of who takes it there. Each handler
// takes the operators of one kind; it returns false, and has added nothing, when the operator is not as what was measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domain/traced_training.h"
#include "predict/kernels/traced_tensor.h"
#include "predict/kernels/training_ops.h"

namespace weir::predict {

class TracedCall {
 public:
  // Requires: both outlive the object.
  TracedCall(const TracedOp& op, TrainingOpsBuilder& ops) : op_{op}, ops_{ops} {}

  const TracedOp& op() const { return op_; }
  bool has(std::size_t inputs, std::size_t outputs) const {
    return op_.inputs.size() >= inputs && op_.outputs.size() >= outputs;
  }
  const TracedTensor& in(std::size_t index) const { return op_.inputs[index]; }
  const TracedTensor& out() const { return op_.outputs.front(); }

  // The first number of an argument, or all of them.
  std::int64_t argument(std::string_view name, std::int64_t otherwise) const;
  std::vector<std::int64_t> numbers(std::string_view name) const;

  void add(const KernelCall& call, std::int64_t times = 1, std::string stands_for = {}) const;
  // False for number formats that are not measured.
  bool add_rows(const char* name, const TracedTensor& tensor) const;
  bool add_rows(const char* name, const std::string& dtype, RowShape shape) const;

  TrainingOpsBuilder& ops() const { return ops_; }

 private:
  const TracedOp& op_;
  TrainingOpsBuilder& ops_;
};

// "bf16" for half precision of either kind, which is as fast; "fp32"; empty for what is not measured.
std::string measured_type(const TracedTensor& tensor);

struct TracedHandler {
  std::string_view op;  // "aten::mm"
  bool (*handle)(const TracedCall& call);
};
std::span<const TracedHandler> traced_element_handlers();  // number by number
std::span<const TracedHandler> traced_row_handlers();  // over rows: norms, softmax, sums, tables
std::span<const TracedHandler> traced_image_handlers();
std::span<const TracedHandler> traced_product_handlers();  // matrices, attention, convolutions

}  // namespace weir::predict
