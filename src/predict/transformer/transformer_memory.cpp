// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/transformer_memory.h"

#include <algorithm>

namespace weir::predict {
namespace {

// Both from InternEvo's memory table, its four rows of 7B with fsdp and tp 1 (a line through them); the other
// twelve rows are held out. The pool's smaller share is an assumption.
constexpr double kAllocatorWaste = 1.126;
constexpr double kWasteWithPool = 1.05;
constexpr double kContextBytes = 6e9;

struct LocalShape {
  double tokens = 0;  // b s of a microbatch
  double hidden = 0;
  double split = 1;
  double layers = 0;     // of the fullest stage
  double in_flight = 0;  // layers' worth of kept activations
};

LocalShape local_shape(const TransformerModel& model, std::int64_t sequence,
                       const TransformerPlan& plan) {
  LocalShape shape;
  shape.tokens = static_cast<double>(sequence) * plan.micro_batch;
  shape.hidden = static_cast<double>(model.hidden);
  shape.split = plan.split();
  shape.layers = static_cast<double>((model.layers + plan.stages - 1) / plan.stages);
  const int alive = std::min(plan.stages, plan.micro_count);
  shape.in_flight = shape.layers * alive;
  if (plan.interleave > 1) {
    shape.in_flight *=
        1 + (plan.stages - 1.0) / (static_cast<double>(plan.stages) * plan.interleave);
  }
  return shape;
}

// Bytes that a layer keeps for its backward pass when nothing is computed again.
double layer_bytes(const TransformerModel& model, std::int64_t sequence, bool has_scores,
                   const TransformerPlan& plan, const LocalShape& shape) {
  const double width = static_cast<double>(model.ffn * model.experts_per_token) / shape.hidden;
  // Copied for heads that have none.
  const std::int64_t kv_heads = plan.mode == ParallelMode::isp
                                    ? std::max<std::int64_t>(model.kv_heads, plan.grid.head)
                                    : model.kv_heads;
  const double kv = static_cast<double>(kv_heads) / static_cast<double>(model.heads);
  const double per_token = 14 + 4 * kv + (model.is_gated ? 8 : 4) * width;
  const double whole = plan.mode == ParallelMode::mtp ? 10 : plan.mode == ParallelMode::msp ? 4 : 0;
  double bytes = shape.tokens * shape.hidden * (whole + (per_token - whole) / shape.split);
  if (has_scores) {
    bytes += 5 * shape.tokens * static_cast<double>(model.heads) * static_cast<double>(sequence) /
             shape.split;
  }
  return bytes;
}

double kept_bytes(const TransformerModel& model, std::int64_t sequence, bool has_flash,
                  const TransformerPlan& plan, const LocalShape& shape) {
  const double part = plan.mode == ParallelMode::mtp ? 1 : shape.split;
  const double block_input = 2 * shape.tokens * shape.hidden / part;
  switch (plan.recompute) {
    case Recompute::none:
      return layer_bytes(model, sequence, !has_flash, plan, shape);
    case Recompute::selective:
      return layer_bytes(model, sequence, false, plan, shape);
    case Recompute::full:
      return block_input;
    case Recompute::plus:
      break;
  }
  return block_input + 2 * shape.tokens * static_cast<double>(model.query_width()) / shape.split +
         4 * shape.tokens * static_cast<double>(model.heads) / shape.split;
}

void set_state(const TransformerModel& model, const TransformerPlan& plan, const LocalShape& shape,
               TransformerMemory& memory) {
  const double layers = shape.layers * static_cast<double>(model.layer_elements());
  const double matrices = plan.stages == 1 && !model.has_tied_embeddings ? 2 : 1;
  const double vocab = matrices * static_cast<double>(model.vocab_elements()) / shape.split;
  if (plan.mode == ParallelMode::isp) {
    memory.weights = 2 * (layers / plan.weight_shards + vocab);
    memory.gradients = 2 * (layers / plan.gradient_shards + vocab);
    memory.optimizer = 12 * (layers / plan.optimizer_shards + vocab / (plan.replicas > 1 ? 2 : 1));
    return;
  }
  const double elements = layers / shape.split + vocab;
  memory.weights = 2 * elements / plan.weight_shards;
  memory.gradients = 2 * elements / plan.gradient_shards;
  memory.optimizer = 12 * elements / plan.optimizer_shards;
}

// Matrices of a layer, and of the next where they are gathered ahead. A pool has room for their gradients, too.
double gathered_bytes(const TransformerModel& model, const TransformerPlan& plan) {
  if (plan.weight_shards == 1) return 0;
  const double part = plan.mode == ParallelMode::isp ? 1 : plan.split();
  const double matrices = static_cast<double>(model.layer_elements() - 2 * model.hidden) / part;
  return 2 * matrices * (plan.hides_weights ? 2 : 1) * (plan.has_memory_pool ? 2 : 1);
}

double working_bytes(const TransformerModel& model, std::int64_t sequence,
                     const TransformerPlan& plan, const LocalShape& shape) {
  const double tensor = shape.tokens * shape.hidden;
  const auto vocab = static_cast<double>(model.vocab);
  const bool is_split = plan.mode == ParallelMode::isp || plan.mode == ParallelMode::fsp;
  double bytes = 4 * tensor / shape.split;                      // fp32 norm output
  if (is_split) bytes += 2 * tensor / shape.split;              // head input
  bytes += 2 * shape.tokens * vocab / shape.split;              // logits
  bytes += 4 * tensor * (1 + 1 / shape.split);                  // backward peak
  bytes += 2 * shape.hidden * vocab / shape.split;              // and the head's gradient
  bytes += 2 * static_cast<double>(sequence * model.head_dim);  // rotary table
  if (plan.stages > 1) bytes += 2 * tensor / shape.split;       // to the next stage
  return bytes;
}

}  // namespace

TransformerMemory transformer_memory(const TransformerModel& model, std::int64_t sequence,
                                     bool has_flash, const TransformerPlan& plan) {
  const LocalShape shape = local_shape(model, sequence, plan);
  TransformerMemory memory;
  set_state(model, plan, shape, memory);
  memory.activations = shape.in_flight * kept_bytes(model, sequence, has_flash, plan, shape);
  memory.working = working_bytes(model, sequence, plan, shape);
  memory.pool = gathered_bytes(model, plan);
  if (plan.recompute == Recompute::full || plan.recompute == Recompute::plus)
    memory.recomputed = layer_bytes(model, sequence, !has_flash, plan, shape);
  const double at_worst = std::max(memory.at_backward() + memory.recomputed, memory.at_update());
  memory.needed =
      at_worst * (plan.has_memory_pool ? kWasteWithPool : kAllocatorWaste) + kContextBytes;
  return memory;
}

}  // namespace weir::predict
