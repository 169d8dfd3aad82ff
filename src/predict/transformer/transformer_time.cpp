// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/transformer_time.h"

#include <algorithm>

namespace weir::predict {
namespace {

constexpr double kInterference = 0.1;       // InternEvo's simulator
constexpr double kBackwardAttention = 2.5;  // five GEMMs for two
// Adam reads and writes three fp32 tensors, reads the gradient, widens it, writes 2-byte weights.
constexpr double kOptimizerBytes = 34;
// Unfused scores of an element: written, read and written by the softmax, dropout, read again.
constexpr double kScoreBytes = 11;
// FlashAttention-2 says of itself that it is about twice as fast as the first one, which InternEvo had in 2023.
constexpr double kFirstFlash = 0.5;
// InternEvo in 2023 kept the residual in fp32 (a norm moves 6 instead of 4 bytes, an addition 10 instead of 6) and
// multiplied the gate separately (10 instead of 6): 32 for 20.
constexpr double kUnfused = 1.6;

struct Pass {
  double forward = 0;
  double backward = 0;
};

struct LayerSeconds {
  Pass linear;     // with streaming operators
  Pass attention;  // with the ring's waiting
  Pass ring_waiting;
  Pass exchange;                   // along the sequence
  double exchange_again_plus = 0;  // what selective++ repeats of it
  double weights = 0;
};

class LayerModel {
 public:
  LayerModel(const TransformerTask& task, const TransformerPlan& plan)
      : task_{task},
        model_{task.model},
        plan_{plan},
        split_{static_cast<double>(plan.split())},
        tokens_{static_cast<double>(task.sequence) * plan.micro_batch} {}

  LayerSeconds layer() const {
    LayerSeconds seconds;
    seconds.linear.forward =
        gemms() + task_.runtime.streaming * memory_seconds(task_.gpu, streamed_bytes());
    seconds.linear.backward = 2 * seconds.linear.forward;
    if (task_.runtime.has_flash) {
      add_flash_attention(seconds);
    } else {
      add_score_attention(seconds);
    }
    add_exchange(seconds);
    seconds.weights = weights();
    return seconds;
  }

  // Logits, forward and backward, and the passes over them of the loss.
  double head() const {
    const double vocab = static_cast<double>(model_.vocab);
    const bool is_isp = plan_.mode == ParallelMode::isp;
    const double rows = is_isp ? tokens_ / split_ : tokens_;
    const double columns = is_isp ? vocab : vocab / split_;
    return 3 * gemm_seconds(task_.gpu, rows, columns, static_cast<double>(model_.hidden)) +
           memory_seconds(task_.gpu, 16 * tokens_ * vocab / split_);
  }

  double stage_elements() const {
    const double layers = static_cast<double>((model_.layers + plan_.stages - 1) / plan_.stages);
    const double vocab = (plan_.stages == 1 && !model_.has_tied_embeddings ? 2.0 : 1.0) *
                         static_cast<double>(model_.vocab_elements()) / split_;
    const double part = plan_.mode == ParallelMode::isp ? 1 : split_;
    return layers * static_cast<double>(model_.layer_elements()) / part + vocab;
  }

  // Of ranks that hold shards of the same weights.
  int shard_stride() const { return plan_.mode == ParallelMode::isp ? 1 : plan_.split(); }

 private:
  double gemms() const {
    const bool is_isp = plan_.mode == ParallelMode::isp;
    const double rows = is_isp ? tokens_ / split_ : tokens_;
    const double part = is_isp ? 1 : split_;
    const auto hidden = static_cast<double>(model_.hidden);
    const auto query = static_cast<double>(model_.query_width());
    const auto kv = static_cast<double>(model_.kv_width());
    const auto ffn = static_cast<double>(model_.ffn);
    const double mlp_rows =
        rows * static_cast<double>(model_.experts_per_token) / static_cast<double>(model_.experts);
    const double in = model_.is_gated ? 2 : 1;
    const double mlp = gemm_seconds(task_.gpu, mlp_rows, in * ffn / part, hidden) +
                       gemm_seconds(task_.gpu, mlp_rows, hidden, ffn / part);
    return gemm_seconds(task_.gpu, rows, (query + 2 * kv) / part, hidden) +
           gemm_seconds(task_.gpu, rows, hidden, query / part) +
           static_cast<double>(model_.experts) * mlp;
  }

  // Forward: two norms and two additions, rotary positions, the MLP's activation.
  double streamed_bytes() const {
    const auto hidden = static_cast<double>(model_.hidden);
    const double whole = plan_.mode == ParallelMode::mtp ? tokens_ : tokens_ / split_;
    const double mlp =
        (model_.is_gated ? 6.0 : 4.0) * static_cast<double>(model_.ffn * model_.experts_per_token);
    const double rotary =
        model_.is_gated ? 4.0 * static_cast<double>(model_.query_width() + model_.kv_width()) : 0;
    return whole * 20 * hidden + tokens_ / split_ * (mlp + rotary);
  }

  void add_flash_attention(LayerSeconds& seconds) const {
    const AttentionGrid& grid = plan_.grid;
    const AttentionVolume volume = attention_volume(model_, task_.sequence, grid);
    const double samples = plan_.micro_batch / task_.runtime.attention_rate;
    const double block = static_cast<double>(task_.sequence) / grid.context;
    const double step =
        attention_forward_seconds(task_.gpu, samples * volume.flops_per_step, block);
    const double back = attention_backward_seconds(
        task_.gpu, kBackwardAttention * samples * volume.flops_per_step, block);
    const double kv = plan_.micro_batch * static_cast<double>(volume.kv_bytes);
    seconds.attention.forward = ring(step, kv);
    seconds.attention.backward = ring(back, 2 * kv);  // blocks and their gradients
    seconds.ring_waiting.forward = seconds.attention.forward - grid.context * step;
    seconds.ring_waiting.backward = seconds.attention.backward - grid.context * back;
  }

  double ring(double step, double bytes) const {
    if (plan_.grid.context == 1) return step;
    return ring_seconds(plan_.grid, step, inner_hop_seconds(task_.fabric, plan_.grid, bytes),
                        outer_hop_seconds(task_.fabric, plan_.grid, bytes));
  }

  // Two batched GEMMs over the whole square, and the scores through memory.
  void add_score_attention(LayerSeconds& seconds) const {
    const auto sequence = static_cast<double>(task_.sequence);
    const auto head_dim = static_cast<double>(model_.head_dim);
    const double blocks = static_cast<double>(model_.heads) / split_ * plan_.micro_batch;
    const double scores = blocks * sequence * sequence;
    const double products = blocks * (gemm_seconds(task_.gpu, sequence, sequence, head_dim) +
                                      gemm_seconds(task_.gpu, sequence, head_dim, sequence));
    seconds.attention.forward = products + memory_seconds(task_.gpu, kScoreBytes * scores);
    seconds.attention.backward = 2 * seconds.attention.forward;
  }

  void add_exchange(LayerSeconds& seconds) const {
    if (plan_.split() == 1) return;
    if (plan_.mode == ParallelMode::isp) {
      const AttentionVolume volume = attention_volume(model_, task_.sequence, plan_.grid);
      const double query = plan_.micro_batch * static_cast<double>(volume.query_bytes);
      const double kv = plan_.micro_batch * static_cast<double>(volume.kv_bytes);
      const RankGroup group = plan_.grid.head_group();
      const double out = all_to_all_seconds(task_.fabric, group, query);
      const double in = all_to_all_seconds(task_.fabric, group, query + kv);
      seconds.exchange = {in + out, in + out};
      seconds.exchange_again_plus = in;
      return;
    }
    const RankGroup group{plan_.split(), 1};
    const double tensor = 2 * tokens_ * static_cast<double>(model_.hidden);
    const double gather = all_gather_seconds(task_.fabric, group, tensor);
    // mtp: two all-reduces each way, which cost as much; fsp gathers its inputs once more.
    seconds.exchange = {4 * gather, (plan_.mode == ParallelMode::fsp ? 6 : 4) * gather};
    seconds.exchange_again_plus = seconds.exchange.forward;
  }

  double weights() const {
    const double part = plan_.mode == ParallelMode::isp ? 1 : split_;
    const double bytes = 2 * static_cast<double>(model_.layer_elements()) / part;
    const RankGroup group{plan_.weight_shards, shard_stride()};
    double seconds = 2 * all_gather_seconds(task_.fabric, group, bytes) +
                     reduce_scatter_seconds(task_.fabric, group, bytes);
    // Gradients kept in finer shards than weights are reduced with every microbatch.
    const RankGroup finer{plan_.gradient_shards / plan_.weight_shards,
                          shard_stride() * plan_.weight_shards};
    seconds += reduce_scatter_seconds(task_.fabric, finer, bytes / plan_.weight_shards);
    return seconds;
  }

  const TransformerTask& task_;
  const TransformerModel& model_;
  const TransformerPlan& plan_;
  double split_;
  double tokens_;
};

double exposed(double wanted, double behind) {
  return std::max(0.0, wanted - behind) + kInterference * std::min(wanted, behind);
}

void add_gradients(const TransformerTask& task, const TransformerPlan& plan,
                   const LayerModel& layers, double behind, TransformerTime& time) {
  const double local = layers.stage_elements() / plan.gradient_shards;
  const double bytes = task.runtime.gradient_bytes * local;
  const int stride = layers.shard_stride() * plan.gradient_shards;
  const int holders = plan.same_weights() / plan.gradient_shards;
  const int parts = plan.optimizer_shards / plan.gradient_shards;
  double wanted = 0;
  if (task.runtime.reduces_whole) {
    wanted = all_reduce_seconds(task.fabric, {holders, stride}, bytes);
  } else {
    wanted = reduce_scatter_seconds(task.fabric, {parts, stride}, bytes) +
             all_reduce_seconds(task.fabric, {holders / parts, stride * parts}, bytes / parts);
  }
  time.gradients = task.runtime.hides_gradients ? exposed(wanted, behind) : wanted;
  time.gradients_hidden = std::max(0.0, wanted - time.gradients);
}

void add_update(const TransformerTask& task, const TransformerPlan& plan, const LayerModel& layers,
                TransformerTime& time) {
  const double elements = layers.stage_elements();
  const double weights = 2 * elements / plan.weight_shards;
  const int parts = plan.zero_degree();
  const RankGroup group{parts, layers.shard_stride() * plan.weight_shards};
  time.update = memory_seconds(task.gpu, kOptimizerBytes * elements / plan.optimizer_shards);
  time.update += task.runtime.has_broadcast_update
                     ? parts * broadcast_seconds(task.fabric, group, weights / parts)
                     : all_gather_seconds(task.fabric, group, weights);
}

void add_pipeline(const TransformerTask& task, const TransformerPlan& plan, double stage,
                  TransformerTime& time) {
  if (plan.stages == 1) return;
  time.bubble = (plan.stages - 1) * stage / plan.interleave;
  const double bytes = 2.0 * static_cast<double>(task.sequence * plan.micro_batch) *
                       static_cast<double>(task.model.hidden) / plan.split();
  const int stage_gpus = plan.split() * plan.replicas;
  const bool is_near =
      plan.gpus() <= task.fabric.gpus_per_node || stage_gpus < task.fabric.gpus_per_node;
  const double one = is_near
                         ? link_transfer_seconds(task.fabric, bytes)
                         : network_transfer_seconds(task.fabric, bytes, task.fabric.gpus_per_node);
  const int count = 2 * std::min(plan.stages, plan.micro_count) + plan.micro_count - 1;
  time.transfers = plan.interleave * count * one;
}

}  // namespace

RuntimeTraits modern_runtime() {
  return {};
}

RuntimeTraits internevo_2023() {
  return {.has_flash = true,
          .has_broadcast_update = true,
          .reduces_whole = true,
          .attention_rate = kFirstFlash,
          .streaming = kUnfused};
}

RuntimeTraits megatron_2021() {
  return {.has_flash = false, .reduces_whole = true, .hides_gradients = false};
}

TransformerTime transformer_time(const TransformerTask& task, const TransformerPlan& plan) {
  const LayerModel layers{task, plan};
  const LayerSeconds layer = layers.layer();
  const double count = static_cast<double>((task.model.layers + plan.stages - 1) / plan.stages);
  const double micro = plan.micro_count;

  double again = 0;
  double attention_again = 0;
  double exchange_again = 0;
  switch (plan.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      attention_again = task.runtime.has_flash ? 0 : layer.attention.forward;
      break;
    case Recompute::full:
      again = layer.linear.forward;
      attention_again = layer.attention.forward;
      exchange_again = layer.exchange.forward;
      break;
    case Recompute::plus:
      again = layer.linear.forward;
      exchange_again = layer.exchange_again_plus;
      break;
  }
  const double linear = layer.linear.forward + layer.linear.backward;
  const double weights_exposed =
      plan.hides_weights ? exposed(layer.weights, linear + again) : layer.weights;
  const double exchange = layer.exchange.forward + layer.exchange.backward + exchange_again;
  const double attention = layer.attention.forward + layer.attention.backward;
  const double whole_layer =
      linear + again + weights_exposed + exchange + attention + attention_again;

  TransformerTime time;
  const double times = micro * count;
  time.linear = times * linear;
  time.attention = times * attention;
  time.again = times * (again + attention_again);
  time.sequence = times * exchange;
  time.weights = times * weights_exposed;
  time.weights_hidden = times * std::max(0.0, layer.weights - weights_exposed);
  time.ring_waiting = times * (layer.ring_waiting.forward + layer.ring_waiting.backward);
  time.head = micro * layers.head();
  add_pipeline(task, plan, count * whole_layer, time);
  const double last_backward = count * (whole_layer - layer.linear.forward -
                                        layer.attention.forward - layer.exchange.forward);
  add_gradients(task, plan, layers, last_backward, time);
  add_update(task, plan, layers, time);
  time.iteration = time.linear + time.attention + time.again + time.sequence + time.weights +
                   time.head + time.bubble + time.transfers + time.gradients + time.update;
  return time;
}

double tokens_per_gpu_second(const TransformerTask& task, const TransformerPlan& plan,
                             double iteration) {
  return static_cast<double>(task.batch * task.sequence) / (plan.gpus() * iteration);
}

double model_flops_utilization(const TransformerTask& task, const TransformerPlan& plan,
                               double iteration) {
  const double tokens = static_cast<double>(task.batch * task.sequence);
  return 3 * forward_flops(task.model, tokens, static_cast<double>(task.sequence)) /
         (plan.gpus() * iteration * task.gpu.tflops * 1e12);
}

double narayanan_tflops(const TransformerTask& task, const TransformerPlan& plan,
                        double iteration) {
  const auto layers = static_cast<double>(task.model.layers);
  const auto hidden = static_cast<double>(task.model.hidden);
  const auto sequence = static_cast<double>(task.sequence);
  const double flops = 96 * static_cast<double>(task.batch) * sequence * layers * hidden * hidden *
                       (1 + sequence / (6 * hidden) +
                        static_cast<double>(task.model.vocab) / (16 * layers * hidden));
  return flops / (plan.gpus() * iteration * 1e12);
}

}  // namespace weir::predict
