// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_space.h"

#include <algorithm>
#include <limits>

namespace weir::plan {
namespace {

using predict::AttentionGrid;
using predict::ParallelMode;
using predict::Recompute;
using predict::TransformerPlan;

constexpr int kMostInterleaved = 8;
// Samples; of shorter sequences than the usual one as many more as have as many tokens.
constexpr int kMostMicroBatch = 64;
constexpr std::int64_t kUsualSequence = 4096;

bool is_pinned_away(const std::optional<int>& pin, int value) {
  return pin && *pin != value;
}

bool has_kv_copies(const TransformerModel& model, const TransformerPlan& plan) {
  return plan.mode == ParallelMode::isp && plan.grid.head > model.kv_heads;
}

std::vector<AttentionGrid> grids(const TransformerRequest& request, ParallelMode mode, int split) {
  const TransformerModel& model = request.task.model;
  std::vector<AttentionGrid> all;
  if (mode != ParallelMode::isp) {
    const bool fits_node = request.task.fabric.gpus_per_node % split == 0;
    if (fits_node) all.push_back({split, 1, 1, true});
    return all;
  }
  for (const int head : divisors(split)) {
    const int context = split / head;
    if (context > 1 && !request.task.runtime.has_flash) continue;
    for (const int window : divisors(context)) {
      for (const bool is_head_first : {true, false}) {
        // Both placements are the same when only one degree is above 1.
        if (!is_head_first && (head == 1 || context == 1)) continue;
        const AttentionGrid grid{head, context, window, is_head_first};
        if (predict::is_possible(model, request.task.sequence, grid)) all.push_back(grid);
      }
    }
  }
  return all;
}

std::vector<Recompute> recomputations(const TransformerRequest& request) {
  if (request.task.runtime.has_flash) return {Recompute::none, Recompute::plus, Recompute::full};
  return {Recompute::none, Recompute::selective, Recompute::full};
}

std::vector<int> interleavings(const TransformerModel& model, int stages, int micro_count) {
  std::vector<int> pieces{1};
  if (stages == 1 || micro_count % stages != 0) return pieces;
  for (int v = 2; v <= kMostInterleaved; ++v) {
    if (model.layers % (static_cast<std::int64_t>(stages) * v) == 0) pieces.push_back(v);
  }
  return pieces;
}

class StructureList {
 public:
  explicit StructureList(const TransformerRequest& request) : request_{request} {}

  std::vector<TransformerPlan> all() {
    for (const int stages : divisors(request_.gpus)) {
      if (stages > request_.task.model.layers || is_pinned_away(request_.pins.pp, stages)) continue;
      for (const int split : divisors(request_.gpus / stages)) add_split(stages, split);
    }
    return std::move(found_);
  }

 private:
  void add_split(int stages, int split) {
    const int replicas = request_.gpus / stages / split;
    if (request_.task.batch % replicas != 0 || is_pinned_away(request_.pins.dp, replicas)) return;
    for (const ParallelMode mode :
         {ParallelMode::mtp, ParallelMode::msp, ParallelMode::fsp, ParallelMode::isp}) {
      // Without a split they differ in memory only: mtp has no pool. msp and fsp are then mtp.
      const bool is_same = mode == ParallelMode::msp || mode == ParallelMode::fsp;
      if (split == 1 && is_same && request_.pins.mode != mode) continue;
      for (const AttentionGrid& grid : grids(request_, mode, split)) {
        TransformerPlan plan;
        plan.mode = mode;
        plan.grid = grid;
        plan.stages = stages;
        plan.replicas = replicas;
        add_microbatches(plan);
      }
    }
  }

  void add_microbatches(TransformerPlan plan) {
    const std::int64_t samples = request_.task.batch / plan.replicas;
    for (const int micro_batch : divisors(samples)) {
      if (micro_batch > most_micro_batch() ||
          samples / micro_batch > std::numeric_limits<int>::max())
        continue;
      plan.micro_batch = micro_batch;
      plan.micro_count = static_cast<int>(samples / micro_batch);
      for (const int pieces : interleavings(request_.task.model, plan.stages, plan.micro_count)) {
        plan.interleave = pieces;
        for (const Recompute recompute : recomputations(request_)) {
          plan.recompute = recompute;
          add(plan);
        }
      }
    }
  }

  std::int64_t most_micro_batch() const {
    return std::max<std::int64_t>(kMostMicroBatch,
                                  kMostMicroBatch * kUsualSequence / request_.task.sequence);
  }

  void add(const TransformerPlan& plan) {
    TransformerPins pins = request_.pins;
    pins.wp.reset();
    pins.zp.reset();
    pins.overlaps.reset();
    pins.has_memory_pool.reset();
    if (!fits_pins(pins, plan) || !is_of_family(request_.family, request_.task.model, plan)) return;
    if (predict::broken_rules(request_.task.model, request_.task.sequence, request_.gpus,
                              request_.task.batch, plan)
            .empty()) {
      found_.push_back(plan);
    }
  }

  const TransformerRequest& request_;
  std::vector<TransformerPlan> found_;
};

}  // namespace

std::vector<int> divisors(std::int64_t number) {
  std::vector<int> low;
  std::vector<int> high;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    if (d <= std::numeric_limits<int>::max()) low.push_back(static_cast<int>(d));
    if (d * d != number && number / d <= std::numeric_limits<int>::max())
      high.push_back(static_cast<int>(number / d));
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

bool fits_pins(const TransformerPins& pins, const TransformerPlan& plan) {
  const bool is_isp = plan.mode == ParallelMode::isp;
  if (pins.mode && *pins.mode != plan.mode) return false;
  if (pins.tp && (is_isp ? *pins.tp != 1 : *pins.tp != plan.split())) return false;
  if (pins.sp && (is_isp ? *pins.sp != plan.split() : *pins.sp != 1)) return false;
  if (pins.hp && *pins.hp != (is_isp ? plan.grid.head : 1)) return false;
  if (is_pinned_away(pins.cp, plan.grid.context)) return false;
  if (is_pinned_away(pins.window, plan.grid.window)) return false;
  if (pins.is_head_first && *pins.is_head_first != plan.grid.is_head_first) return false;
  if (pins.recompute && *pins.recompute != plan.recompute) return false;
  if (pins.overlaps && *pins.overlaps != plan.overlaps()) return false;
  if (pins.has_memory_pool && *pins.has_memory_pool != plan.has_memory_pool) return false;
  return !is_pinned_away(pins.dp, plan.replicas) && !is_pinned_away(pins.pp, plan.stages) &&
         !is_pinned_away(pins.interleave, plan.interleave) &&
         !is_pinned_away(pins.wp, plan.weight_shards) &&
         !is_pinned_away(pins.zp, plan.zero_degree()) &&
         !is_pinned_away(pins.micro_batch, plan.micro_batch) &&
         !is_pinned_away(pins.micro_count, plan.micro_count);
}

bool is_of_family(AttentionFamily family, const TransformerModel& model,
                  const TransformerPlan& plan) {
  if (family == AttentionFamily::any) return true;
  if (plan.mode != ParallelMode::isp || has_kv_copies(model, plan)) return false;
  if (plan.grid.window != plan.grid.context) return false;
  if (family == AttentionFamily::ulysses) return plan.grid.context == 1;
  return family == AttentionFamily::usp || plan.grid.head == 1;
}

std::vector<TransformerPlan> structures(const TransformerRequest& request) {
  return StructureList{request}.all();
}

void add_variants(const TransformerPins& pins, TransformerPlan plan,
                  std::vector<TransformerPlan>& plans) {
  for (const bool hides : {true, false}) {
    if (!hides && plan.gradient_shards == 1) continue;
    plan.hides_weights = hides;
    if (pins.overlaps && *pins.overlaps != plan.overlaps()) continue;
    const bool can_pool = plan.mode == ParallelMode::isp && plan.weight_shards > 1 && hides;
    for (const bool pool : {false, true}) {
      if ((pool && !can_pool) || (pins.has_memory_pool && *pins.has_memory_pool != pool)) continue;
      plan.has_memory_pool = pool;
      plans.push_back(plan);
    }
  }
}

std::vector<TransformerPlan> sharded(const TransformerRequest& request,
                                     const TransformerPlan& structure) {
  std::vector<TransformerPlan> plans;
  const int whole = structure.same_weights();
  for (const int weights : divisors(whole)) {
    if (is_pinned_away(request.pins.wp, weights)) continue;
    for (const int zero : divisors(whole / weights)) {
      if (is_pinned_away(request.pins.zp, zero)) continue;
      TransformerPlan plan = structure;
      plan.weight_shards = weights;
      plan.gradient_shards = weights;
      plan.optimizer_shards = weights * zero;
      add_variants(request.pins, plan, plans);
      if (zero == 1) continue;
      plan.gradient_shards = plan.optimizer_shards;
      add_variants(request.pins, plan, plans);
    }
  }
  return plans;
}

}  // namespace weir::plan
