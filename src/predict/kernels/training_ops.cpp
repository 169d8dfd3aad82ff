// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/training_ops.h"

#include <algorithm>
#include <utility>

namespace weir::predict {
namespace {

constexpr std::int64_t kOptimizerTensors = 8;  // of one launch's share, as the tables have them
constexpr std::int64_t kOptimizerShare = 100'000'000;

KernelCall rows_call(const char* op, const char* dtype, std::int64_t rows, std::int64_t columns) {
  return {KernelFamily::rows, op, dtype, "", {rows, columns}};
}

KernelCall product_call(const char* op, const char* layout, std::int64_t m, std::int64_t n,
                        std::int64_t k) {
  return {KernelFamily::gemm, op, "bf16", layout, {1, m, n, k}};
}

}  // namespace

void TrainingOpsBuilder::call(TrainingPhase phase, const KernelCall& call, std::int64_t times,
                              std::string stands_for) {
  const auto same = std::find_if(ops_.ops.begin(), ops_.ops.end(), [&](const TrainingOp& op) {
    return op.phase == phase && op.call == call && op.stands_for == stands_for;
  });
  if (same != ops_.ops.end())
    same->count += times;
  else
    ops_.ops.push_back({call, phase, times, std::move(stands_for)});
}

void TrainingOpsBuilder::append(const TrainingOps& ops, std::int64_t times) {
  for (const TrainingOp& op : ops.ops) call(op.phase, op.call, op.count * times, op.stands_for);
  parameters(ops.parameters, ops.tensors, times);
}

void TrainingOpsBuilder::forward_rows(const char* op, const char* dtype, std::int64_t rows,
                                      std::int64_t columns, std::int64_t times) {
  call(TrainingPhase::forward, rows_call(op, dtype, rows, columns), times);
}

void TrainingOpsBuilder::backward_rows(const char* op, const char* dtype, std::int64_t rows,
                                       std::int64_t columns, std::int64_t times) {
  call(TrainingPhase::backward, rows_call(op, dtype, rows, columns), times);
}

void TrainingOpsBuilder::linear(const Linear& layer, std::int64_t times) {
  const std::int64_t rows = layer.rows;
  forward_rows("cast_down", "bf16", layer.out, layer.in, times);
  if (layer.casts_input) forward_rows("cast_down", "bf16", rows, layer.in, times);
  if (layer.bias) {
    forward_rows("cast_down", "bf16", 1, layer.out, times);
    backward_rows("sum_rows", "bf16", rows, layer.out, times);
    backward_rows("cast_up", "bf16", 1, layer.out, times);
  }
  call(TrainingPhase::forward,
       product_call(layer.bias ? "linear" : "mm", "nt", rows, layer.in, layer.out), times);
  call(TrainingPhase::backward, product_call("mm", "tn", layer.out, rows, layer.in), times);
  backward_rows("cast_up", "bf16", layer.out, layer.in, times);
  if (layer.has_input_gradient) {
    call(TrainingPhase::backward, product_call("mm", "nn", rows, layer.out, layer.in), times);
    if (layer.casts_input) backward_rows("cast_up", "bf16", rows, layer.in, times);
  }
  parameters((layer.owns_weight ? layer.in * layer.out : 0) + (layer.bias ? layer.out : 0),
             (layer.owns_weight ? 1 : 0) + (layer.bias ? 1 : 0), times);
}

void TrainingOpsBuilder::cross_entropy(std::int64_t rows, std::int64_t classes) {
  forward_rows("log_softmax", "bf16", rows, classes);
  forward_rows("cast_up", "bf16", rows, classes);
  forward_rows("mean_cols", "fp32", 1, rows);  // picks one of each row: a small kernel
  backward_rows("nll_bwd", "fp32", rows, classes);
  backward_rows("cast_down", "bf16", rows, classes);
  backward_rows("log_softmax_bwd", "bf16", rows, classes);
}

void TrainingOpsBuilder::parameters(std::int64_t numbers, std::int64_t tensors,
                                    std::int64_t times) {
  ops_.parameters += numbers * times;
  ops_.tensors += tensors * times;
}

void TrainingOpsBuilder::optimizer_step(std::int64_t numbers, std::int64_t times) {
  // It goes over all tensors; what it takes depends on how many numbers they have together.
  const auto step = [&](std::int64_t share, std::int64_t count) {
    if (share == 0 || count == 0) return;
    call(TrainingPhase::optimizer,
         rows_call("adamw", "fp32", kOptimizerTensors,
                   std::max<std::int64_t>(1, share / kOptimizerTensors)),
         count);
  };
  step(kOptimizerShare, numbers / kOptimizerShare * times);
  step(numbers % kOptimizerShare, times);
}

TrainingOps TrainingOpsBuilder::finish() {
  optimizer_step(ops_.parameters);
  return without_step();
}

TrainingOps TrainingOpsBuilder::without_step() {
  return std::move(ops_);
}

}  // namespace weir::predict
