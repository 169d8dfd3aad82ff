// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/transformer_time.h"

#include <algorithm>

#include "predict/transformer/analytic_times.h"

namespace weir::predict {
namespace {

constexpr double kInterference = 0.1;  // InternEvo's simulator

struct Pass {
  double forward = 0;
  double backward = 0;
};

struct LayerSeconds {
  Pass linear;     // with streaming operators
  Pass attention;  // with the ring's waiting
  Pass ring_waiting;
  double ring_home = 0;            // of it
  Pass exchange;                   // along the sequence
  double exchange_again_plus = 0;  // what selective++ repeats of it
  double weights = 0;
  Pass linear_calls;  // that the CPU launches
  Pass attention_calls;
  double tensors = 0;
  double beyond = 0;

  double calls() const {
    return linear_calls.forward + linear_calls.backward + attention_calls.forward +
           attention_calls.backward;
  }
};

class LayerModel {
 public:
  LayerModel(const TransformerTask& task, const TransformerPlan& plan, const ComputeTimes& compute)
      : task_{task},
        model_{task.model},
        plan_{plan},
        compute_{compute},
        split_{static_cast<double>(plan.split())},
        tokens_{static_cast<double>(task.sequence) * plan.micro_batch} {}

  LayerSeconds layer() const {
    LayerSeconds seconds;
    const ComputeSeconds matrices = compute_.layer(layer_shape());
    seconds.linear = {matrices.forward, matrices.backward};
    add_attention(seconds);
    add_calls(matrices, seconds);
    add_exchange(seconds);
    seconds.weights = exchanged(static_cast<double>(model_.layer_elements()) / part());
    return seconds;
  }

  ComputeSeconds head() const { return compute_.head(vocabulary_shape()); }

  // Beside the head where one stage has both.
  ComputeSeconds embedding() const {
    return plan_.stages == 1 ? compute_.embedding(vocabulary_shape()) : ComputeSeconds{};
  }

  double stage_elements() const {
    const auto layers = static_cast<double>(longest_stage(model_, plan_));
    return layers * static_cast<double>(model_.layer_elements()) / part() + vocabulary_elements();
  }

  // Embedding and head, where they are sharded as the layers are.
  double vocabulary_weights() const {
    return task_.runtime.splits_vocabulary ? 0 : exchanged(vocabulary_elements());
  }

  // Of ranks that hold shards of the same weights.
  int shard_stride() const { return is_isp() ? 1 : plan_.split(); }

 private:
  bool is_isp() const { return plan_.mode == ParallelMode::isp; }
  double vocabulary_elements() const {
    return (plan_.stages == 1 && !model_.has_tied_embeddings ? 2.0 : 1.0) *
           static_cast<double>(model_.vocab_elements()) / vocabulary_split(task_.runtime, plan_);
  }
  // A matrix is cut into so many, or the tokens are.
  double part() const { return is_isp() ? 1 : split_; }
  double rows() const { return is_isp() ? tokens_ / split_ : tokens_; }

  LayerShape layer_shape() const {
    return {.rows = rows(),
            .norm_rows = plan_.mode == ParallelMode::mtp ? tokens_ : tokens_ / split_,
            .hidden = static_cast<double>(model_.hidden),
            .heads = static_cast<double>(model_.heads) / part(),
            .kv_heads = static_cast<double>(model_.kv_heads) / part(),
            .head_dim = static_cast<double>(model_.head_dim),
            .ffn = static_cast<double>(model_.ffn) / part(),
            .experts = static_cast<double>(model_.experts),
            .experts_per_token = static_cast<double>(model_.experts_per_token),
            .is_gated = model_.is_gated};
  }

  AttentionShape attention_shape() const {
    const AttentionGrid& grid = plan_.grid;
    return {.samples = static_cast<double>(plan_.micro_batch),
            .heads = static_cast<double>(model_.heads) / grid.head,
            .kv_heads = std::max(1.0, static_cast<double>(model_.kv_heads) / grid.head),
            .tokens = static_cast<double>(task_.sequence) / grid.context,
            .head_dim = static_cast<double>(model_.head_dim),
            .is_ring_step = grid.context > 1};
  }

  VocabularyShape vocabulary_shape() const {
    return {.rows = rows(),
            .samples = static_cast<double>(plan_.micro_batch),
            .hidden = static_cast<double>(model_.hidden),
            .vocab = static_cast<double>(model_.vocab) / part(),
            .is_gated = model_.is_gated,
            .is_tied = model_.has_tied_embeddings};
  }

  void add_attention(LayerSeconds& seconds) const {
    const AttentionGrid& grid = plan_.grid;
    const ComputeSeconds step = compute_.attention(attention_shape());
    const AttentionVolume volume = attention_volume(model_, task_.sequence, grid);
    const double kv = plan_.micro_batch * static_cast<double>(volume.kv_bytes);
    seconds.attention.forward = ring_seconds(grid, step.forward, inner_hop(kv), outer_hop(kv));
    const RingHops hops{.inner = inner_hop(kv),
                        .inner_both = inner_hop(2 * kv),
                        .outer = outer_hop(kv),
                        .outer_both = outer_hop(2 * kv)};
    seconds.attention.backward = ring_backward_seconds(grid, step.backward, hops);
    seconds.ring_home = hops.way_home();
    seconds.ring_waiting.forward = seconds.attention.forward - grid.context * step.forward;
    seconds.ring_waiting.backward = seconds.attention.backward - grid.context * step.backward;
    seconds.attention_calls = {grid.context * step.forward_calls,
                               grid.context * step.backward_calls};
    seconds.beyond += grid.context * step.beyond;
  }

  void add_calls(const ComputeSeconds& matrices, LayerSeconds& seconds) const {
    seconds.linear_calls = {matrices.forward_calls, matrices.backward_calls};
    seconds.beyond += matrices.beyond;
    seconds.tensors = matrices.tensors;
  }

  double inner_hop(double bytes) const {
    return inner_hop_seconds(task_.fabric, plan_.grid, bytes);
  }
  double outer_hop(double bytes) const {
    return outer_hop_seconds(task_.fabric, plan_.grid, bytes);
  }

  void add_exchange(LayerSeconds& seconds) const {
    if (plan_.split() == 1) return;
    if (is_isp()) {
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

  // Gathered forward and backward, gradients scattered.
  double exchanged(double elements) const {
    const double gradients = task_.runtime.gradient_bytes * elements;
    const RankGroup group{plan_.weight_shards, shard_stride()};
    // Gradients kept in finer shards than weights are reduced with every microbatch.
    const RankGroup finer{plan_.gradient_shards / plan_.weight_shards,
                          shard_stride() * plan_.weight_shards};
    return 2 * all_gather_seconds(task_.fabric, group, 2 * elements) +
           reduce_scatter_seconds(task_.fabric, group, gradients) +
           reduce_scatter_seconds(task_.fabric, finer, gradients / plan_.weight_shards);
  }

  const TransformerTask& task_;
  const TransformerModel& model_;
  const TransformerPlan& plan_;
  const ComputeTimes& compute_;
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
                const ComputeTimes& compute, TransformerTime& time) {
  const double elements = layers.stage_elements();
  const double weights = 2 * elements / plan.weight_shards;
  const int parts = plan.zero_degree();
  const RankGroup group{parts, layers.shard_stride() * plan.weight_shards};
  const ComputeSeconds step = compute.update(elements / plan.optimizer_shards);
  time.update = step.forward;
  time.beyond += step.beyond;
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
  const int node = task.fabric.gpus_per_node;
  const double near = link_transfer_seconds(task.fabric, bytes);
  const int nodes = (plan.gpus() + node - 1) / node;
  const double far = nodes == 1
                         ? near
                         : std::max(near, network_transfer_seconds(task.fabric, bytes,
                                                                   std::min(node, stage_gpus)));
  // Filling and draining passes every boundary of stages, of which some are boundaries of nodes; then the slowest sets the
  // pace. Of as many as a batch of 1e9 has: more than an int holds.
  const double far_part = node % stage_gpus == 0 ? (nodes - 1.0) / (plan.stages - 1)
                          : nodes == 1           ? 0.0
                                                 : 1.0;
  const double filling = 2.0 * std::min(plan.stages, plan.micro_count);
  const double steady = plan.micro_count - 1.0;
  time.transfers =
      plan.interleave * (filling * (far_part * far + (1 - far_part) * near) + steady * far);
}

// What the backward pass of a layer computes again.
struct Repeated {
  double linear = 0;
  double attention = 0;
  double exchange = 0;
  double calls = 0;
};

Repeated computed_again(const TransformerTask& task, Recompute recompute,
                        const LayerSeconds& layer) {
  switch (recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      if (!task.runtime.has_flash)
        return {.attention = layer.attention.forward, .calls = layer.attention_calls.forward};
      break;
    case Recompute::full:
      return {layer.linear.forward, layer.attention.forward, layer.exchange.forward,
              layer.linear_calls.forward + layer.attention_calls.forward};
    case Recompute::plus:
      return {.linear = layer.linear.forward,
              .exchange = layer.exchange_again_plus,
              .calls = layer.linear_calls.forward};
  }
  return {};
}

TransformerTime time_with(const TransformerTask& task, const TransformerPlan& plan,
                          const ComputeTimes& compute) {
  const LayerModel layers{task, plan, compute};
  const LayerSeconds layer = layers.layer();
  const ComputeSeconds head = layers.head();
  const ComputeSeconds embedding = layers.embedding();
  const auto count = static_cast<double>(longest_stage(task.model, plan));
  const double micro = plan.micro_count;

  const Repeated again = computed_again(task, plan.recompute, layer);
  const double linear = layer.linear.forward + layer.linear.backward;
  const double weights_exposed =
      plan.hides_weights ? exposed(layer.weights, linear + again.linear) : layer.weights;
  const double vocabulary = layers.vocabulary_weights();
  const double vocabulary_exposed =
      plan.hides_weights ? exposed(vocabulary, head.both() + embedding.both()) : vocabulary;
  const double exchange = layer.exchange.forward + layer.exchange.backward + again.exchange;
  const double attention = layer.attention.forward + layer.attention.backward;
  const double whole_layer =
      linear + again.linear + weights_exposed + exchange + attention + again.attention;

  TransformerTime time;
  const double times = micro * count;
  time.linear = times * linear;
  time.attention = times * attention;
  time.again = times * (again.linear + again.attention);
  time.sequence = times * exchange;
  time.weights = times * weights_exposed + micro * vocabulary_exposed;
  time.weights_hidden = times * std::max(0.0, layer.weights - weights_exposed) +
                        micro * std::max(0.0, vocabulary - vocabulary_exposed);
  time.ring_waiting = times * (layer.ring_waiting.forward + layer.ring_waiting.backward);
  time.ring_home = times * layer.ring_home;
  time.head = micro * (head.both() + embedding.both());
  time.beyond = times * layer.beyond + micro * (head.beyond + embedding.beyond);
  add_pipeline(task, plan, count * whole_layer, time);
  const double last_backward = count * (whole_layer - layer.linear.forward -
                                        layer.attention.forward - layer.exchange.forward);
  add_gradients(task, plan, layers, last_backward, time);
  add_update(task, plan, layers, compute, time);
  const double busy = time.linear + time.attention + time.again + time.sequence + time.weights +
                      time.head + time.bubble + time.transfers + time.gradients + time.update;
  const double calls =
      times * (layer.calls() + again.calls) + micro * (head.calls() + embedding.calls());
  time.cpu =
      compute.launch_seconds(calls, count * layer.tensors + head.tensors + embedding.tensors);
  time.iteration = std::max(busy, time.cpu);
  time.launching = time.iteration - busy;
  return time;
}

}  // namespace

std::string compute_source(const TransformerTask& task) {
  return task.compute ? task.compute->source() : AnalyticTimes{task.gpu, task.runtime}.source();
}

TransformerTime transformer_time(const TransformerTask& task, const TransformerPlan& plan) {
  if (task.compute) return time_with(task, plan, *task.compute);
  return time_with(task, plan, AnalyticTimes{task.gpu, task.runtime});
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
