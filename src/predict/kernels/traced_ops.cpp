// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/traced_ops.h"

#include <algorithm>
#include <map>
#include <utility>

#include "predict/kernels/traced_call.h"

namespace weir::predict {
namespace {

constexpr std::int64_t kCopyColumns = 1024;
constexpr double kCopyBytes = 4;  // of each number: two read, two written

using HandlerMap = std::map<std::string_view, bool (*)(const TracedCall&)>;

const HandlerMap& handlers() {
  static const HandlerMap kByName = [] {
    HandlerMap map;
    for (const auto table : {traced_element_handlers(), traced_row_handlers(),
                             traced_image_handlers(), traced_product_handlers()})
      for (const TracedHandler& handler : table) map.emplace(handler.op, handler.handle);
    return map;
  }();
  return kByName;
}

// The fused step over the optimizer's list of parameters.
bool add_step(const TracedCall& call) {
  if (call.op().op != "aten::_fused_adamw_") return false;
  std::int64_t numbers = 0;
  for (const TracedTensor& tensor : call.op().inputs) numbers += elements_of(tensor);
  call.ops().optimizer_step(numbers, call.op().count);
  return true;
}

bool is_empty(const TracedTensor& tensor) {
  return elements_of(tensor) == 0;
}

bool writes_nothing(const TracedOp& op) {
  return !op.outputs.empty() && std::all_of(op.outputs.begin(), op.outputs.end(), is_empty);
}

// One of its tensors is empty. That is usual only for parts of a whole.
bool reads_nothing(const TracedOp& op) {
  return op.op != "aten::cat" && std::any_of(op.inputs.begin(), op.inputs.end(), is_empty);
}

void add_stand_in(const TracedCall& call) {
  double bytes = 0;
  for (const TracedTensor& tensor : call.op().inputs) bytes += bytes_of(tensor);
  for (const TracedTensor& tensor : call.op().outputs) bytes += bytes_of(tensor);
  const auto numbers = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / kCopyBytes));
  const std::int64_t columns = std::min(numbers, kCopyColumns);
  call.add({KernelFamily::rows, "copy", "bf16", "", {(numbers + columns - 1) / columns, columns}},
           1, call.op().op);
}

}  // namespace

std::int64_t TracedCall::argument(std::string_view name, std::int64_t otherwise) const {
  const auto at = op_.arguments.find(name);
  return at == op_.arguments.end() || at->second.empty() ? otherwise : at->second.front();
}

std::vector<std::int64_t> TracedCall::numbers(std::string_view name) const {
  const auto at = op_.arguments.find(name);
  return at == op_.arguments.end() ? std::vector<std::int64_t>{} : at->second;
}

void TracedCall::add(const KernelCall& call, std::int64_t times, std::string stands_for) const {
  ops_.call(op_.phase, call, op_.count * times, std::move(stands_for));
}

bool TracedCall::add_rows(const char* name, const TracedTensor& tensor) const {
  return add_rows(name, measured_type(tensor), row_shape(tensor));
}

bool TracedCall::add_rows(const char* name, const std::string& dtype, RowShape shape) const {
  if (dtype.empty()) return false;
  add({KernelFamily::rows,
       name,
       dtype,
       "",
       {std::max<std::int64_t>(1, shape.rows), std::max<std::int64_t>(1, shape.columns)}});
  return true;
}

std::string measured_type(const TracedTensor& tensor) {
  if (tensor.dtype == "bf16" || tensor.dtype == "fp16") return "bf16";
  return tensor.dtype == "fp32" ? "fp32" : "";
}

TrainingOps ops_of_trace(const TracedTraining& training) {
  TrainingOpsBuilder ops;
  for (const TracedOp& op : training.ops) {
    const TracedCall call{op, ops};
    if (add_step(call) || writes_nothing(op)) continue;
    const auto at = handlers().find(op.op);
    if (at == handlers().end() || reads_nothing(op) || !at->second(call)) add_stand_in(call);
  }
  ops.parameters(training.parameters, training.tensors);
  return ops.without_step();
}

}  // namespace weir::predict
