// SPDX-License-Identifier: Apache-2.0
#include "predict/training/check_plan.h"

#include <fmt/format.h>

#include <numeric>

#include "domain/whole_numbers.h"
#include "predict/training/iteration_costs.h"

namespace weir::predict {

namespace {

class Checker {
 public:
  Checker(const TrainingPlan& plan, const IterationCosts& costs, PlanRules rules)
      : plan_{plan}, costs_{costs}, rules_{rules} {}

  Diagnostics check() {
    check_sums();
    check_batch();
    int before = 0;
    for (std::size_t i = 0; i < plan_.stages.size() && !mistakes_.full(); ++i) {
      check_stage(i, before);
      before += plan_.stages[i].gpus;
    }
    return std::move(mistakes_);
  }

 private:
  void add(std::string field, std::string found, std::string expected) {
    mistakes_.add({"", 0, std::move(field), std::move(found), std::move(expected)});
  }

  void check_sums() {
    std::size_t ops = 0;
    int gpus = 0;
    for (const PlanStage& stage : plan_.stages) {
      ops += stage.ops.size();
      gpus += stage.gpus;
    }
    if (ops != static_cast<std::size_t>(costs_.ops().size())) {
      add("stages", fmt::format("{} operators", ops),
          fmt::format("the {} operators of the model", costs_.ops().size()));
    }
    if (gpus != costs_.cluster().gpus()) {
      add("stages", fmt::format("{} GPUs", gpus), fmt::format("{} GPUs", costs_.cluster().gpus()));
    }
  }

  void check_batch() {
    if (plan_.microbatch < 1) add("microbatch", std::to_string(plan_.microbatch), "1 or more");
    if (plan_.microbatch >= 1 && (plan_.batch < 1 || plan_.batch % plan_.microbatch != 0)) {
      add("batch", std::to_string(plan_.batch),
          fmt::format("a multiple of the microbatch, {}", plan_.microbatch));
    }
  }

  void check_stage(std::size_t index, int before) {
    const PlanStage& stage = plan_.stages[index];
    const std::string name = fmt::format("stages[{}]", index);
    if (stage.ops.empty()) add(name + ".ops", "none", "one operator or more");
    if (!is_power_of_two(stage.gpus))
      add(name + ".gpus", std::to_string(stage.gpus), "a power of two");
    const int per_node = costs_.cluster().gpus_per_node;
    const bool is_inside =
        stage.gpus > 0 && before / per_node == (before + stage.gpus - 1) / per_node;
    if (!is_inside && !rules_.stages_may_straddle_nodes) {
      add(name + ".gpus", fmt::format("GPUs {} to {}", before, before + stage.gpus - 1),
          fmt::format("GPUs of one node, which has {}", per_node));
    }
    // A run of equal operators is one mistake, not a hundred.
    PlanOp previous{.tp = -1};
    for (std::size_t i = 0; i < stage.ops.size() && !mistakes_.full(); ++i) {
      PlanOp op = stage.ops[i];
      op.recompute = false;
      if (op == previous) continue;
      check_op(fmt::format("{}.ops[{}]", name, i), op, stage.gpus);
      previous = op;
    }
  }

  void check_op(const std::string& name, const PlanOp& op, int gpus) {
    if (!is_power_of_two(op.tp) || !is_power_of_two(op.dp) || op.tp * op.dp != gpus) {
      add(name, fmt::format("tp {} and dp {}", op.tp, op.dp),
          fmt::format("powers of two whose product is the stage's GPUs, {}", gpus));
      return;
    }
    if (op.tp > costs_.cluster().gpus_per_node) {
      add(name + ".tp", std::to_string(op.tp),
          fmt::format("at most the GPUs of a node, {}", costs_.cluster().gpus_per_node));
    }
    if (op.dim != 0 && op.dim != 1) {
      add(name + ".dim", std::to_string(op.dim), "0 or 1");
      return;
    }
    if (plan_.microbatch < 1) return;
    if (plan_.microbatch % op.dp != 0) {
      add(name + ".dp", std::to_string(op.dp),
          fmt::format("a divisor of the microbatch, {}", plan_.microbatch));
      return;
    }
    const int replica = plan_.microbatch / op.dp;
    if (!costs_.has(replica, op.tp, op.dim)) {
      add(name, fmt::format("microbatch {} at tp {}, dim {}", replica, op.tp, op.dim),
          fmt::format("a combination the profile {} {} {} has measured", costs_.profile().database,
                      costs_.profile().model, costs_.profile().size));
    }
  }

  const TrainingPlan& plan_;
  const IterationCosts& costs_;
  PlanRules rules_;
  Diagnostics mistakes_;
};

}  // namespace

Diagnostics check_plan(const TrainingPlan& plan, const IterationCosts& costs, PlanRules rules) {
  return Checker{plan, costs, rules}.check();
}

}  // namespace weir::predict
