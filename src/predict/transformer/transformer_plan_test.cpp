// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/transformer_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "predict/transformer/published_runs_testing.h"

namespace weir::predict {
namespace {

// Dealt one by one, everybody gets as many, and at least one.
bool deals_evenly(std::int64_t things, int ways) {
  std::vector<std::int64_t> got(static_cast<std::size_t>(ways));
  for (std::int64_t i = 0; i < things; ++i) ++got[static_cast<std::size_t>(i % ways)];
  return got.front() >= 1 && got.front() == got.back();
}

// Which key/value heads each rank needs for its query heads, and how many ranks need each of them.
struct KvNeeds {
  std::set<std::size_t> sizes;  // of what a rank needs
  std::set<int> holders;        // of one head
};
KvNeeds kv_needs(const TransformerModel& model, int ranks) {
  const std::int64_t queries = model.heads / ranks;
  const std::int64_t group = model.heads / model.kv_heads;
  std::map<std::int64_t, int> holders;
  KvNeeds needs;
  for (int rank = 0; rank < ranks; ++rank) {
    std::set<std::int64_t> heads;
    for (std::int64_t q = rank * queries; q < (rank + 1) * queries; ++q) heads.insert(q / group);
    needs.sizes.insert(heads.size());
    for (const std::int64_t head : heads) ++holders[head];
  }
  for (const auto& [head, count] : holders) needs.holders.insert(count);
  return needs;
}

// Every chunk of the sequence is loaded once.
bool covers_the_sequence(const AttentionGrid& grid) {
  std::set<int> chunks;
  for (int h = 0; h < grid.head; ++h) {
    for (int c = 0; c < grid.context; ++c) {
      const auto [first, second] = token_chunks(grid, h, c);
      chunks.insert(first);
      chunks.insert(second);
    }
  }
  return chunks.size() == 2U * static_cast<std::size_t>(grid.gpus()) && *chunks.begin() == 0 &&
         *chunks.rbegin() == 2 * grid.gpus() - 1;
}

bool attention_works(const TransformerModel& model, std::int64_t sequence,
                     const TransformerPlan& plan) {
  const AttentionGrid& grid = plan.grid;
  if (!deals_evenly(model.heads, grid.head)) return false;
  const KvNeeds needs = kv_needs(model, grid.head);
  if (needs.sizes.size() != 1 || needs.holders.size() != 1) return false;
  if (plan.mode != ParallelMode::isp) {
    // Weights are cut: no head twice, no column left over; no ring. Only mtp keeps all tokens everywhere.
    return grid.context == 1 && grid.window == 1 && *needs.holders.begin() == 1 &&
           deals_evenly(model.ffn, grid.head) &&
           (plan.mode == ParallelMode::mtp || deals_evenly(sequence, grid.head));
  }
  if (grid.context == 1) return grid.window == 1 && deals_evenly(sequence, grid.head);
  return deals_evenly(grid.context, grid.window) && covers_the_sequence(grid) &&
         deals_evenly(sequence, 2 * grid.gpus());
}

bool pipeline_works(const TransformerModel& model, const TransformerPlan& plan) {
  if (plan.stages > model.layers) return false;
  if (plan.interleave == 1) return true;
  return plan.stages > 1 && deals_evenly(model.layers, plan.stages * plan.interleave) &&
         deals_evenly(plan.micro_count, plan.stages);
}

// The rules again, by dealing things out.
bool works(const TransformerModel& model, std::int64_t sequence, int gpus, std::int64_t batch,
           const TransformerPlan& plan) {
  for (const int number : {plan.grid.head, plan.grid.context, plan.grid.window, plan.replicas,
                           plan.stages, plan.interleave, plan.weight_shards, plan.gradient_shards,
                           plan.optimizer_shards, plan.micro_batch, plan.micro_count}) {
    if (number < 1) return false;
  }
  const int holders = plan.mode == ParallelMode::isp
                          ? plan.grid.head * plan.grid.context * plan.replicas
                          : plan.replicas;
  return plan.grid.head * plan.grid.context * plan.replicas * plan.stages == gpus &&
         std::int64_t{plan.replicas} * plan.micro_batch * plan.micro_count == batch &&
         attention_works(model, sequence, plan) && pipeline_works(model, plan) &&
         deals_evenly(plan.gradient_shards, plan.weight_shards) &&
         deals_evenly(plan.optimizer_shards, plan.gradient_shards) &&
         deals_evenly(holders, plan.optimizer_shards) &&
         (!plan.has_memory_pool ||
          (plan.mode == ParallelMode::isp && plan.weight_shards > 1 && plan.hides_weights));
}

// Many small choices each time: a smaller failing case is not worth minutes of looking for it.
template <class T>
T one_of(std::vector<T> from) {
  return *rc::gen::noShrink(rc::gen::elementOf(std::move(from)));
}

struct Numbered {
  TransformerModel model;
  std::int64_t sequence = 0;
  TransformerPlan plan;
};

// Mostly right, on models where halves and thirds both occur.
Numbered nearly_right() {
  const auto pick = [](std::vector<int> from) { return one_of(std::move(from)); };
  Numbered any;
  any.model = one_of(
      std::vector{llama_like(12, 768, 12, 6, 2304, 1000), llama_like(32, 4096, 32, 8, 11'008, 1000),
                  llama_like(24, 1536, 24, 3, 100, 1000), llama_like(12, 768, 12, 1, 2304, 1000)});
  any.sequence = pick({48, 96, 1 << 14, 20});
  TransformerPlan& plan = any.plan;
  plan.mode = one_of(
      std::vector{ParallelMode::isp, ParallelMode::msp, ParallelMode::mtp, ParallelMode::fsp});
  plan.grid.head = pick({1, 2, 2, 3, 4, 6, 8});
  if (plan.mode == ParallelMode::isp) {
    plan.grid.context = pick({1, 1, 2, 3, 4});
    plan.grid.window = pick({1, plan.grid.context, 2});
    plan.grid.is_head_first = (one_of(std::vector{0, 1}) == 1);
  }
  plan.replicas = pick({1, 2, 3, 4});
  plan.stages = pick({1, 1, 2, 3, 4});
  if (plan.stages > 1) plan.interleave = pick({1, 1, 2, 3});
  plan.micro_batch = pick({1, 2});
  plan.micro_count = plan.interleave > 1 ? plan.stages * pick({1, 2}) : pick({1, 2, 3});
  const int whole = plan.same_weights();
  plan.optimizer_shards = pick({1, whole, plan.replicas});
  plan.gradient_shards = pick({1, plan.optimizer_shards});
  plan.weight_shards = pick({1, plan.gradient_shards});
  plan.hides_weights = pick({0, 1, 1}) == 1;
  plan.has_memory_pool = plan.weight_shards > 1 && pick({0, 0, 1}) == 1;
  return any;
}

// One number changed, or none.
void change_one(TransformerPlan& plan) {
  int* const numbers[] = {&plan.grid.head,     &plan.grid.context,    &plan.grid.window,
                          &plan.replicas,      &plan.stages,          &plan.interleave,
                          &plan.weight_shards, &plan.gradient_shards, &plan.optimizer_shards,
                          &plan.micro_batch,   &plan.micro_count};
  int& number = *numbers[one_of(std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})];
  number = one_of(std::vector{-1, 0, 1, 2, 3, 4, 5, 6, 8, 12, 16, number + 1});
}

RC_GTEST_PROP(TransformerPlanProperty, BreaksNoRuleExactlyWhenEverythingCanBeDealtOut, ()) {
  for (int i = 0; i < 20; ++i) {
    Numbered any = nearly_right();
    int gpus = any.plan.gpus();
    std::int64_t batch = any.plan.batch();
    if (one_of(std::vector{0, 1}) == 1) {
      change_one(any.plan);
      // Another number of GPUs goes with it, or does not.
      if (one_of(std::vector{0, 1}) == 1) {
        gpus = any.plan.gpus();
        batch = any.plan.batch();
      }
    }
    const Diagnostics broken = broken_rules(any.model, any.sequence, gpus, batch, any.plan);
    RC_LOG() << to_string(broken);
    RC_ASSERT(broken.empty() == works(any.model, any.sequence, gpus, batch, any.plan));
  }
}

}  // namespace
}  // namespace weir::predict
