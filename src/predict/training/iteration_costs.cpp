// SPDX-License-Identifier: Apache-2.0
#include "predict/training/iteration_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "predict/training/check_plan.h"
#include "predict/training/link_times.h"

namespace weir::predict {

namespace {

constexpr int kMostTp = 64;
constexpr std::size_t kDegrees = 7;  // 1, 2, 4 ... 64
constexpr std::size_t kDims = 2;

OpVariant variant_of(const PlanOp& op, int microbatch) {
  return {microbatch / op.dp, op.tp, op.dim};
}

}  // namespace

Result<IterationCosts> IterationCosts::make(OpProfile profile, int layers, PlanCluster cluster,
                                            CostOptions options) {
  auto ops = model_ops(profile, layers);
  if (!ops) return tl::unexpected(ops.error());
  IterationCosts costs;
  costs.profile_ = std::move(profile);
  costs.ops_ = std::move(*ops);
  costs.cluster_ = cluster;
  costs.options_ = options;
  if (costs.ops_.family == ModelFamily::resnet) costs.factors_ = {1, 2};  // in fp32: no copy
  if (costs.profile_.inside_node.empty()) {
    return bad_input(Diagnostic{"p2p.csv", 0, "db", "",
                                "rows of " + costs.profile_.database +
                                    " with scope intra: how fast GPUs of a node exchange data"});
  }
  if (options.model == CostModel::full) {
    for (auto& table : costs.profile_.collectives) drop_skipped(table.second);
  }
  for (const auto& table : costs.profile_.tables) {
    costs.microbatches_.push_back(table.first.microbatch);
  }
  auto& sizes = costs.microbatches_;
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.empty()) {
    return bad_input(Diagnostic{"ops.csv", 0, "mbs", "", "measured rows"});
  }
  costs.slot_of_microbatch_.assign(static_cast<std::size_t>(sizes.back()) + 1, -1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    costs.slot_of_microbatch_[static_cast<std::size_t>(sizes[i])] = static_cast<int>(i);
  }
  costs.tables_.assign(sizes.size() * kDegrees * kDims, nullptr);
  for (const auto& [variant, rows] : costs.profile_.tables) {
    if (variant.tp <= kMostTp) costs.tables_[costs.slot(variant)] = rows.data();
  }
  if (options.one_measurement_at_tp1) {
    for (const int size : sizes) {
      costs.tables_[costs.slot({size, 1, 1})] = costs.tables_[costs.slot({size, 1, 0})];
    }
  }
  return costs;
}

std::size_t IterationCosts::slot(OpVariant variant) const {
  const auto size =
      static_cast<std::size_t>(slot_of_microbatch_[static_cast<std::size_t>(variant.microbatch)]);
  const auto degree = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(variant.tp)));
  return (size * kDegrees + degree) * kDims + static_cast<std::size_t>(variant.dim);
}

const OpMeasure* IterationCosts::rows(OpVariant variant) const {
  if (variant.microbatch < 1 ||
      static_cast<std::size_t>(variant.microbatch) >= slot_of_microbatch_.size() ||
      slot_of_microbatch_[static_cast<std::size_t>(variant.microbatch)] < 0 || variant.tp < 1 ||
      variant.tp > kMostTp) {
    return nullptr;
  }
  return tables_[slot(variant)];
}

double IterationCosts::transfer_us(double mib, bool crosses_nodes) const {
  const bool is_between = crosses_nodes && !profile_.between_nodes.empty();
  const auto& link = is_between ? profile_.between_nodes : profile_.inside_node;
  return options_.model == CostModel::published ? stepped_transfer_us(link, mib)
                                                : transfer_time_us(link, mib);
}

double IterationCosts::receive_us(int op, double input_mib, bool crosses_nodes) const {
  if (options_.model == CostModel::full && op == 0) return 0;
  return transfer_us(input_mib, crosses_nodes);
}

double IterationCosts::send_us(int op, double output_mib, bool crosses_nodes) const {
  if (options_.model == CostModel::full && op + 1 == ops_.size()) return 0;
  return transfer_us(output_mib, crosses_nodes);
}

double IterationCosts::collective_us(Collective kind, int gpus, double mib) const {
  const auto found = profile_.collectives.find({kind, gpus});
  const CollectiveTimes* times = found == profile_.collectives.end() ? nullptr : &found->second;
  if (options_.model == CostModel::published) return looked_up_collective_us(times, mib);
  const auto measured = times != nullptr ? interpolated_collective_us(*times, mib) : std::nullopt;
  return measured ? *measured : ring_collective_us(kind, gpus, mib, profile_.inside_node);
}

IterationCosts::ReshardTime IterationCosts::reshard_us(int op, const PlanOp& before,
                                                       const PlanOp& here, int microbatch) const {
  const Resharding move =
      resharding(ops_.traits_of(op - 1).output[before.dim], {before.tp, before.dp},
                 ops_.traits_of(op).input[here.dim], {here.tp, here.dp});
  if (move.gpus == 1) return {};
  const double mib = measure(rows(variant_of(here, microbatch)), op).input_mib;
  return {move.forward ? collective_us(*move.forward, move.gpus, mib) : 0,
          move.backward ? collective_us(*move.backward, move.gpus, mib) : 0};
}

double IterationCosts::saved_mib(int op, double activation_mib) const {
  const OpTraits& traits = ops_.traits_of(op);
  if (traits.activation_factor != 1) return traits.activation_factor * activation_mib;
  return ops_.traits_of(op + 1).starts_block ? 0 : activation_mib;
}

void IterationCosts::set_pace(StageTime& time) const {
  const double busy = time.forward + time.backward + time.recompute;
  const double links = time.receive + time.send;
  const double reshard = time.reshard_forward + time.reshard_backward;
  time.traverse = busy + links + reshard;
  time.pace = hides_transfers() ? busy + reshard + std::max(0.0, links - busy) : time.traverse;
}

double IterationCosts::gradients_us(double weight_mib, int replicas) const {
  if (options_.model == CostModel::published || replicas <= 1 || weight_mib <= 0) return 0;
  return collective_us(Collective::all_reduce, replicas, weight_mib);
}

double IterationCosts::optimizer_us(double weight_mib) const {
  if (options_.model == CostModel::published) return 0;
  // Reads gradients, copy and moments; writes weights, copy and moments.
  const double moved_mib = weight_mib * (2 * factors_.all() - 1);
  return moved_mib * 1048576.0 / (options_.optimizer_gb_per_s * 1000.0);
}

double IterationCosts::tied_us(double embedding_mib, int first, int end) const {
  if (options_.model == CostModel::published || embedding_mib <= 0) return 0;
  if (first == 0 && end == ops_.size()) return 0;
  return transfer_us(embedding_mib, cluster_.nodes > 1);
}

StageCost IterationCosts::stage(int first, std::span<const PlanOp> plan_ops, int microbatch,
                                StagePlace place) const {
  const bool is_published = options_.model == CostModel::published;
  StageCost cost;
  StageTime& time = cost.time;
  double weights = 0;
  double kept = 0;
  double reserved_forward = 0;
  double reserved_backward = 0;
  double embedding = 0;
  std::vector<std::pair<int, double>> weights_by_replicas;
  for (std::size_t i = 0; i < plan_ops.size(); ++i) {
    const PlanOp& here = plan_ops[i];
    const int op = first + static_cast<int>(i);
    const OpMeasure& row = measure(rows(variant_of(here, microbatch)), op);
    time.forward += row.forward_us;
    time.backward += row.backward_us;
    if (here.recompute) time.recompute += row.forward_us;
    weights += row.weight_mib;
    kept += kept_mib(op, row.activation_mib);
    if (ops_.traits_of(op).holds_embedding) embedding += row.weight_mib;
    if (!is_published || i + 1 < plan_ops.size()) {  // the artifact leaves out the last operator
      reserved_forward = std::max(reserved_forward, row.reserved_forward_mib);
      reserved_backward = std::max(reserved_backward, row.reserved_backward_mib);
    }
    if (weights_by_replicas.empty() || weights_by_replicas.back().first != here.dp) {
      weights_by_replicas.emplace_back(here.dp, 0.0);
    }
    weights_by_replicas.back().second += row.weight_mib;
    if (i > 0) {
      const ReshardTime reshard = reshard_us(op, plan_ops[i - 1], here, microbatch);
      time.reshard_forward += reshard.forward;
      time.reshard_backward += reshard.backward;
    }
  }
  const PlanOp& front = plan_ops.front();
  PlanOp back = plan_ops.back();
  // The artifact looks up the last output with the first operator's degree.
  if (is_published) back.tp = front.tp;
  const int last = first + static_cast<int>(plan_ops.size()) - 1;
  const double input_mib = measure(rows(variant_of(front, microbatch)), first).input_mib;
  const OpMeasure* last_rows = rows(variant_of(back, microbatch));
  const double output_mib = last_rows == nullptr ? std::numeric_limits<double>::infinity()
                                                 : measure(last_rows, last).output_mib;
  time.receive = receive_us(first, input_mib, place.input_crosses);
  time.send = send_us(last, output_mib, place.output_crosses);
  for (const auto& [replicas, mib] : weights_by_replicas)
    time.gradients += gradients_us(mib, replicas);
  time.optimizer = optimizer_us(weights);
  time.tied = tied_us(embedding, first, last + 1);
  set_pace(time);

  const double saved = saved_by_recomputing_mib(first, plan_ops, microbatch);
  const double in_flight = input_mib + kept - saved;
  cost.memory = {.weights = weights * factors_.weights,
                 .gradients = weights,
                 .optimizer = weights * factors_.optimizer,
                 .activations = in_flight * place.stages_behind,
                 .peak = in_flight + peak_recomputed_mib(first, plan_ops, microbatch),
                 .reserved = std::max(reserved_forward + reserved_backward, weights)};
  return cost;
}

double IterationCosts::saved_by_recomputing_mib(int first, std::span<const PlanOp> plan_ops,
                                                int microbatch) const {
  double saved = 0;
  for (std::size_t i = 0; i + 1 < plan_ops.size(); ++i) {
    if (!plan_ops[i].recompute || !plan_ops[i + 1].recompute) continue;
    const int op = first + static_cast<int>(i);
    saved += saved_mib(op, measure(rows(variant_of(plan_ops[i], microbatch)), op).activation_mib);
  }
  return saved;
}

double IterationCosts::peak_recomputed_mib(int first, std::span<const PlanOp> plan_ops,
                                           int microbatch) const {
  double peak = 0;
  double run = 0;
  for (std::size_t i = 0; i + 1 < plan_ops.size(); ++i) {
    const int op = first + static_cast<int>(i);
    bool ends = true;
    if (plan_ops[i].recompute && plan_ops[i + 1].recompute) {
      run += kept_mib(op, measure(rows(variant_of(plan_ops[i], microbatch)), op).activation_mib);
      // Operators that count for more or less than measured do not end a run: so does the artifact.
      const bool can_end = ops_.traits_of(op).activation_factor == 1;
      ends = can_end && (ops_.traits_of(op + 1).starts_block || i + 2 == plan_ops.size());
    }
    if (!ends) continue;
    peak = std::max(peak, run);
    run = 0;
  }
  // Nor does the artifact count a run that is open at the end.
  return options_.model == CostModel::published ? peak : std::max(peak, run);
}

StagePlace place_of(const TrainingPlan& plan, std::size_t stage, const PlanCluster& cluster) {
  int before = 0;
  for (std::size_t i = 0; i < stage; ++i) before += plan.stages[i].gpus;
  const int after = before + plan.stages[stage].gpus;
  return {.stages_behind = static_cast<int>(plan.stages.size() - 1 - stage),
          .input_crosses = before > 0 && before % cluster.gpus_per_node == 0,
          .output_crosses = after % cluster.gpus_per_node == 0};
}

PlanCost sum_up(std::vector<StageCost> stages, int microbatches) {
  PlanCost cost;
  cost.stages = std::move(stages);
  double traverse = 0;
  for (const StageCost& stage : cost.stages) traverse += stage.time.traverse;
  for (std::size_t i = 0; i < cost.stages.size(); ++i) {
    const StageCost& stage = cost.stages[i];
    const double ms =
        (stage.time.pace * (microbatches - 1) + stage.time.finish() + traverse) / 1000.0;
    cost.stage_ms.push_back(ms);
    if (ms > cost.iteration_ms) {
      cost.iteration_ms = ms;
      cost.bottleneck = static_cast<int>(i);
    }
    cost.largest_memory_mib = std::max(cost.largest_memory_mib, stage.memory.total());
  }
  return cost;
}

PlanCost IterationCosts::plan_unchecked(const TrainingPlan& plan) const {
  std::vector<StageCost> stages;
  int first = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    stages.push_back(
        stage(first, plan.stages[i].ops, plan.microbatch, place_of(plan, i, cluster_)));
    first += static_cast<int>(plan.stages[i].ops.size());
  }
  return sum_up(std::move(stages), plan.batch / plan.microbatch);
}

Result<PlanCost> IterationCosts::plan(const TrainingPlan& plan) const {
  const Diagnostics mistakes = check_plan(plan, *this);
  if (!mistakes.empty()) return bad_input(mistakes);
  return plan_unchecked(plan);
}

}  // namespace weir::predict
