// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/transformer_plan.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "domain/whole_numbers.h"

namespace weir::predict {
namespace {

void expect(Diagnostics& broken, bool holds, const char* field, std::int64_t found,
            std::string expected) {
  if (!holds) broken.add({{}, 0, field, std::to_string(found), std::move(expected)});
}

void check_grid(const TransformerModel& model, std::int64_t sequence, const TransformerPlan& plan,
                Diagnostics& broken) {
  const AttentionGrid& grid = plan.grid;
  const bool is_isp = plan.mode == ParallelMode::isp;
  const char* head = is_isp ? "hp" : "tp";
  expect(broken, model.heads % grid.head == 0, head, grid.head,
         fmt::format("a divisor of the {} heads", model.heads));
  if (!is_isp) {
    expect(broken, grid.context == 1, "cp", grid.context,
           fmt::format("1 under {}", to_string(plan.mode)));
    expect(broken, grid.window == 1, "window", grid.window,
           fmt::format("1 under {}", to_string(plan.mode)));
    expect(broken, model.kv_heads % grid.head == 0, head, grid.head,
           fmt::format("a divisor of the {} key/value heads", model.kv_heads));
    expect(broken, model.ffn % grid.head == 0, head, grid.head,
           fmt::format("a divisor of the MLP's width, {}", model.ffn));
    expect(broken, plan.mode == ParallelMode::mtp || sequence % grid.head == 0, head, grid.head,
           fmt::format("a divisor of the {} tokens of a sequence", sequence));
    return;
  }
  const bool copies_fit = grid.head <= model.kv_heads ? model.kv_heads % grid.head == 0
                                                      : grid.head % model.kv_heads == 0;
  expect(broken, copies_fit, head, grid.head,
         fmt::format("a divisor or a multiple of the {} key/value heads", model.kv_heads));
  expect(broken, grid.context % grid.window == 0, "window", grid.window,
         fmt::format("a divisor of cp, {}", grid.context));
  expect(broken, grid.context == 1 || grid.head == 1 || grid.head % 2 == 0, head, grid.head,
         "an even number when cp is above 1");
  const std::int64_t chunks = grid.context == 1 ? grid.head : 2LL * grid.gpus();
  expect(broken, sequence % chunks == 0, "sequence", sequence,
         fmt::format("a multiple of {} (hp x cp, twice with a ring)", chunks));
}

void check_shards(const TransformerPlan& plan, Diagnostics& broken) {
  const int whole = plan.same_weights();
  expect(broken, plan.gradient_shards % plan.weight_shards == 0, "gradient shards",
         plan.gradient_shards, fmt::format("a multiple of wp, {}", plan.weight_shards));
  expect(broken, plan.optimizer_shards % plan.gradient_shards == 0, "optimizer shards",
         plan.optimizer_shards,
         fmt::format("a multiple of the gradient shards, {}", plan.gradient_shards));
  expect(broken, whole % plan.optimizer_shards == 0, "optimizer shards", plan.optimizer_shards,
         fmt::format("a divisor of the {} ranks with the same weights", whole));
}

}  // namespace

std::string_view to_string(ParallelMode mode) {
  switch (mode) {
    case ParallelMode::mtp:
      return "mtp";
    case ParallelMode::msp:
      return "msp";
    case ParallelMode::fsp:
      return "fsp";
    case ParallelMode::isp:
      break;
  }
  return "isp";
}

std::string_view to_string(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return "none";
    case Recompute::selective:
      return "selective";
    case Recompute::full:
      return "full";
    case Recompute::plus:
      break;
  }
  return "selective++";
}

std::int64_t longest_stage(const TransformerModel& model, const TransformerPlan& plan) {
  return divide_up(model.layers, plan.stages);
}

Diagnostics broken_rules(const TransformerModel& model, std::int64_t sequence, int gpus,
                         std::int64_t batch, const TransformerPlan& plan) {
  Diagnostics broken;
  for (const auto& [name, value] : {std::pair{"hp", plan.grid.head},
                                    {"cp", plan.grid.context},
                                    {"window", plan.grid.window},
                                    {"dp", plan.replicas},
                                    {"pp", plan.stages},
                                    {"interleave", plan.interleave},
                                    {"wp", plan.weight_shards},
                                    {"gradient shards", plan.gradient_shards},
                                    {"optimizer shards", plan.optimizer_shards},
                                    {"micro batch", plan.micro_batch},
                                    {"micro batches", plan.micro_count}}) {
    expect(broken, value >= 1, name, value, "1 or more");
  }
  if (!broken.empty()) return broken;
  expect(broken, plan.gpus() == gpus, "pp x split x dp", plan.gpus(), fmt::format("{} GPUs", gpus));
  expect(broken, plan.batch() == batch, "dp x micro batch x micro batches", plan.batch(),
         fmt::format("the batch, {}", batch));
  check_grid(model, sequence, plan, broken);
  expect(broken, plan.stages <= model.layers, "pp", plan.stages,
         fmt::format("at most the {} layers", model.layers));
  if (plan.interleave > 1) {
    expect(broken, plan.stages > 1, "interleave", plan.interleave, "1 without a pipeline");
    expect(broken, model.layers % (static_cast<std::int64_t>(plan.stages) * plan.interleave) == 0,
           "interleave", plan.interleave,
           fmt::format("pp x interleave to divide the {} layers", model.layers));
    expect(broken, plan.micro_count % plan.stages == 0, "interleave", plan.interleave,
           fmt::format("1, or micro batches in multiples of pp, {}", plan.stages));
  }
  check_shards(plan, broken);
  const bool can_pool =
      plan.mode == ParallelMode::isp && plan.weight_shards > 1 && plan.hides_weights;
  if (plan.has_memory_pool && !can_pool)
    broken.add({{}, 0, "pool", "on", "off where no weights are gathered ahead under isp"});
  return broken;
}

}  // namespace weir::predict
