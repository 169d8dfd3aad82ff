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

class RankMemory {
 public:
  RankMemory(const TransformerModel& model, std::int64_t sequence, const RuntimeTraits& runtime,
             const TransformerPlan& plan)
      : model_{model},
        sequence_{sequence},
        runtime_{runtime},
        plan_{plan},
        tokens_{static_cast<double>(sequence) * plan.micro_batch},
        hidden_{static_cast<double>(model.hidden)},
        split_{static_cast<double>(plan.split())},
        stage_layers_{static_cast<double>(longest_stage(model, plan))} {}

  TransformerMemory answer() const {
    TransformerMemory memory;
    set_state(memory);
    memory.pool = gathered_bytes();
    if (plan_.recompute == Recompute::full || plan_.recompute == Recompute::plus)
      memory.recomputed = layer_bytes(!runtime_.has_flash);
    set_alive(memory);
    const double at_worst = std::max(memory.at_backward() + memory.recomputed, memory.at_update());
    memory.needed =
        at_worst * (plan_.has_memory_pool ? kWasteWithPool : kAllocatorWaste) + kContextBytes;
    return memory;
  }

 private:
  bool is_isp() const { return plan_.mode == ParallelMode::isp; }
  // The vocabulary's matrices are cut into so many.
  double vocabulary_parts() const { return vocabulary_split(runtime_, plan_); }
  double vocabulary() const { return static_cast<double>(model_.vocab_elements()); }

  void set_state(TransformerMemory& memory) const {
    const double matrices = plan_.stages == 1 && !model_.has_tied_embeddings ? 2 : 1;
    const double vocab = matrices * vocabulary() / vocabulary_parts();
    const double layers =
        stage_layers_ * static_cast<double>(model_.layer_elements()) / (is_isp() ? 1 : split_);
    if (is_isp() && runtime_.splits_vocabulary) {
      const bool is_halved = plan_.replicas > 1 && plan_.optimizer_shards > 1;
      memory.weights = 2 * (layers / plan_.weight_shards + vocab);
      memory.gradients = 2 * (layers / plan_.gradient_shards + vocab);
      memory.optimizer = 12 * (layers / plan_.optimizer_shards + vocab / (is_halved ? 2 : 1));
      return;
    }
    // Autocast has no second copy of the weights for the optimizer: they and their gradients are float32 themselves.
    const double number = runtime_.autocasts ? 4 : 2;
    memory.weights = number * (layers + vocab) / plan_.weight_shards;
    memory.gradients = number * (layers + vocab) / plan_.gradient_shards;
    memory.optimizer = (16 - 2 * number) * (layers + vocab) / plan_.optimizer_shards;
    // What products take is cast once and kept until the backward pass has used it; gathered weights arrive so.
    if (runtime_.autocasts && plan_.weight_shards == 1) memory.weights += 2 * (layers + vocab);
  }

  // Bytes that a layer keeps for its backward pass when nothing is computed again.
  double layer_bytes(bool has_scores) const {
    // Copied for heads that have none.
    const std::int64_t kv_heads =
        is_isp() ? std::max<std::int64_t>(model_.kv_heads, plan_.grid.head) : model_.kv_heads;
    const double attention =
        static_cast<double>(model_.query_width() + kv_heads * model_.head_dim) / hidden_;
    const double width = static_cast<double>(model_.ffn * model_.experts_per_token) / hidden_;
    const double per_token = 10 + 4 * attention + (model_.is_gated ? 8 : 4) * width;
    const double whole = plan_.mode == ParallelMode::mtp   ? 10
                         : plan_.mode == ParallelMode::msp ? 4
                                                           : 0;
    double bytes = tokens_ * hidden_ * (whole + (per_token - whole) / split_);
    if (has_scores) {
      bytes +=
          5 * tokens_ * static_cast<double>(model_.heads) * static_cast<double>(sequence_) / split_;
    }
    return bytes;
  }

  double kept_bytes() const {
    const double part = plan_.mode == ParallelMode::mtp ? 1 : split_;
    const double block_input = 2 * tokens_ * hidden_ / part;
    switch (plan_.recompute) {
      case Recompute::none:
        return layer_bytes(!runtime_.has_flash);
      case Recompute::selective:
        return layer_bytes(false);
      case Recompute::full:
        return block_input;
      case Recompute::plus:
        break;
    }
    return block_input + 2 * tokens_ * static_cast<double>(model_.query_width()) / split_ +
           4 * tokens_ * static_cast<double>(model_.heads) / split_;
  }

  // Matrices of a layer, and of the next where they are gathered ahead. A pool has room for their gradients, too.
  double gathered_bytes() const {
    if (plan_.weight_shards == 1) return 0;
    const double layer =
        static_cast<double>(model_.layer_elements() - 2 * model_.hidden) / (is_isp() ? 1 : split_);
    const double largest =
        runtime_.splits_vocabulary ? layer : std::max(layer, vocabulary() / vocabulary_parts());
    return 2 * (largest + (plan_.hides_weights ? layer : 0)) * (plan_.has_memory_pool ? 2 : 1);
  }

  // Layers' worth of kept activations, of the stage that has the most microbatches in flight and of the one that has the
  // loss.
  double most_in_flight() const {
    const double in_flight = stage_layers_ * std::min(plan_.stages, plan_.micro_count);
    if (plan_.interleave == 1) return in_flight;
    return in_flight * (1 + (plan_.stages - 1.0) / (1.0 * plan_.stages * plan_.interleave));
  }
  double in_flight_at_loss() const {
    const double chunks = (plan_.interleave - 1.0) * plan_.stages + 1;
    return stage_layers_ * std::min<double>(chunks / plan_.interleave, plan_.micro_count);
  }

  double loss_bytes() const {
    const double vocab = static_cast<double>(model_.vocab);
    return runtime_.logit_bytes * tokens_ * vocab / split_ +  // logits
           2 * hidden_ * vocab / vocabulary_parts();          // and the head's gradient
  }
  double working_bytes() const {
    const double tensor = tokens_ * hidden_;
    const bool is_split = is_isp() || plan_.mode == ParallelMode::fsp;
    double bytes = 4 * tensor / split_;                             // fp32 norm output
    if (is_split) bytes += 2 * tensor / split_;                     // head input
    bytes += 4 * tensor * (1 + 1 / split_);                         // backward peak
    bytes += 2 * static_cast<double>(sequence_ * model_.head_dim);  // rotary table
    if (plan_.stages > 1) bytes += 2 * tensor / split_;             // to the next stage
    return bytes;
  }

  void set_alive(TransformerMemory& memory) const {
    memory.activations = most_in_flight() * kept_bytes();
    memory.working = working_bytes();
    // That simulator counts the logits on the first stage, too.
    if (plan_.stages == 1 || runtime_.splits_vocabulary) {
      memory.working += loss_bytes();
      return;
    }
    const double at_loss = in_flight_at_loss() * kept_bytes();
    if (at_loss + loss_bytes() <= memory.activations) return;
    memory.activations = at_loss;
    memory.working += loss_bytes();
  }

  const TransformerModel& model_;
  std::int64_t sequence_;
  const RuntimeTraits& runtime_;
  const TransformerPlan& plan_;
  double tokens_;  // b s of a microbatch
  double hidden_;
  double split_;
  double stage_layers_;  // of the fullest
};

}  // namespace

int vocabulary_split(const RuntimeTraits& runtime, const TransformerPlan& plan) {
  return plan.mode == ParallelMode::isp && !runtime.splits_vocabulary ? 1 : plan.split();
}

TransformerMemory transformer_memory(const TransformerModel& model, std::int64_t sequence,
                                     const RuntimeTraits& runtime, const TransformerPlan& plan) {
  return RankMemory{model, sequence, runtime, plan}.answer();
}

}  // namespace weir::predict
