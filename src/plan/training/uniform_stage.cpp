// SPDX-License-Identifier: Apache-2.0
#include "plan/training/uniform_stage.h"

#include <algorithm>

#include "plan/training/container_index.h"

namespace weir::plan {

namespace {

PlanOp plan_op(const StageLayout& layout) {
  return {.tp = static_cast<std::int16_t>(layout.tp),
          .dp = static_cast<std::int16_t>(layout.dp),
          .dim = static_cast<std::int8_t>(layout.dim)};
}

double between(const std::vector<double>& sums, int first, int end) {
  return sums[at(end)] - sums[at(first)];
}

}  // namespace

UniformStage::UniformStage(const predict::IterationCosts& costs, StageLayout layout, int microbatch,
                           double limit_mib, RecomputeRule rule)
    : costs_{costs},
      layout_{layout},
      limit_mib_{limit_mib},
      rule_{rule},
      rows_{costs.rows({microbatch / layout.dp, layout.tp, layout.dim})},
      own_{costs, OpMeasures{rows_}} {
  const auto& ops = costs.ops();
  const PlanOp op_plan = plan_op(layout);
  std::vector<double> reserved_forward;
  std::vector<double> reserved_backward;
  for (auto* sums : {&busy_, &reshard_, &weights_, &kept_, &embedding_}) sums->push_back(0);
  int repeat_first = 0;
  int kind = -1;
  for (int op = 0; op < ops.size(); ++op) {
    const OpMeasure& row = costs.measure(rows_, op);
    busy_.push_back(busy_.back() + row.forward_us + row.backward_us);
    weights_.push_back(weights_.back() + row.weight_mib);
    kept_.push_back(kept_.back() + costs.kept_mib(op, row.activation_mib));
    embedding_.push_back(embedding_.back() +
                         (ops.traits_of(op).holds_embedding ? row.weight_mib : 0));
    double move = 0;
    if (op > 0) {
      const auto reshard = costs.reshard_us(op, op_plan, op_plan, microbatch);
      move = reshard.forward + reshard.backward;
    }
    reshard_.push_back(reshard_.back() + move);
    reserved_forward.push_back(row.reserved_forward_mib);
    reserved_backward.push_back(row.reserved_backward_mib);
    for (const bool crosses : {false, true}) {
      receive_[crosses ? 1 : 0].push_back(costs.receive_us(op, row.input_mib, crosses));
      send_[crosses ? 1 : 0].push_back(costs.send_us(op, row.output_mib, crosses));
    }
    const auto& unit = ops.units[at(ops.unit_of[at(op)])];
    if (unit.kind != kind) {
      kind = unit.kind;
      repeat_first = unit.first;
    }
    canonical_.push_back(repeat_first + (op - repeat_first) % unit.size);
  }
  repeat_end_.assign(at(ops.size()), ops.size());
  for (int op = ops.size() - 1; op > 0; --op) {
    const bool ends =
        ops.units[at(ops.unit_of[at(op)])].kind != ops.units[at(ops.unit_of[at(op - 1)])].kind;
    repeat_end_[at(op - 1)] = ends ? op : repeat_end_[at(op)];
  }
  reserved_forward_ = RangeMaximum{std::move(reserved_forward)};
  reserved_backward_ = RangeMaximum{std::move(reserved_backward)};
}

double UniformStage::work_us(int first, int end) const {
  return between(busy_, first, end) + between(reshard_, first + 1, end);
}

StageBase UniformStage::base(int first, int end, predict::StagePlace place) const {
  StageBase base;
  base.busy = between(busy_, first, end);
  base.reshard = between(reshard_, first + 1, end);
  base.links = receive_[place.input_crosses ? 1 : 0][at(first)] +
               send_[place.output_crosses ? 1 : 0][at(end - 1)];
  if (costs_.options().model == predict::CostModel::full) {
    const double weights = between(weights_, first, end);
    base.finish = costs_.gradients_us(weights, layout_.dp) + costs_.optimizer_us(weights) +
                  costs_.tied_us(between(embedding_, first, end), first, end);
  }
  return base;
}

double UniformStage::missing_mib(int first, int end, int stages_behind) const {
  const double weights = between(weights_, first, end);
  const int reserved_end = costs_.options().model == predict::CostModel::published ? end - 1 : end;
  const double reserved = reserved_forward_.of(at(first), at(reserved_end)) +
                          reserved_backward_.of(at(first), at(reserved_end));
  const double in_flight = costs_.measure(rows_, first).input_mib + between(kept_, first, end);
  return weights * costs_.state_factors().all() + std::max(reserved, weights) +
         in_flight * (stages_behind + 1) - limit_mib_;
}

// Stages of equal layers are equal wherever they begin.
std::uint64_t UniformStage::key(int first, int end, int stages_behind) const {
  const int begin = end <= repeat_end_[at(first)] ? canonical_[at(first)] : first;
  return (static_cast<std::uint64_t>(begin) << 40) |
         (static_cast<std::uint64_t>(end - first) << 16) |
         static_cast<std::uint64_t>(stages_behind);
}

double UniformStage::choose_us(int first, int end, int stages_behind, double missing) {
  UnitMasks masks{costs_, rows_, first, end};
  double least = derive_masks(costs_, rows_, masks, end, stages_behind, missing)
                     ? masks.recompute_us()
                     : kImpossible;
  if (rule_ == RecomputeRule::own) {
    least = std::min(least, own_.recompute_us(first, end, stages_behind, missing));
  }
  return least;
}

double UniformStage::recompute_us(int first, int end, int stages_behind) {
  const double missing = missing_mib(first, end, stages_behind);
  if (missing <= 0) return 0;
  const auto [place, is_new] = chosen_.try_emplace(key(first, end, stages_behind), 0.0);
  if (is_new) place->second = choose_us(first, end, stages_behind, missing);
  return place->second;
}

double UniformStage::least_recompute_us(int first, int end, int stages_behind) {
  const double missing = missing_mib(first, end, stages_behind);
  if (missing <= 0) return 0;
  const auto [place, is_new] = least_.try_emplace(key(first, end, stages_behind), 0.0);
  if (is_new) place->second = own_.bound_us(first, end, stages_behind, missing);
  return place->second;
}

PlanStage UniformStage::stage(int first, int end, int stages_behind) {
  PlanStage stage;
  stage.gpus = gpus();
  stage.ops.assign(at(end - first), plan_op(layout_));
  const double missing = missing_mib(first, end, stages_behind);
  if (missing <= 0) return stage;
  UnitMasks masks{costs_, rows_, first, end};
  const bool fits = derive_masks(costs_, rows_, masks, end, stages_behind, missing);
  if (rule_ == RecomputeRule::own) {
    const double own_us = own_.recompute_us(first, end, stages_behind, missing);
    if (!fits || own_us < masks.recompute_us()) {
      own_.choose(first, end, stages_behind, missing, stage.ops);
      return stage;
    }
  }
  masks.write(stage.ops);
  return stage;
}

}  // namespace weir::plan
