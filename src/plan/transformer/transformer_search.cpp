// SPDX-License-Identifier: Apache-2.0
#include "plan/transformer/transformer_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace weir::plan {
namespace {

using predict::TransformerMemory;
using predict::TransformerPlan;
using predict::TransformerTime;

auto simplicity(const TransformerPlan& plan) {
  return std::tuple{plan.stages,
                    plan.split(),
                    plan.grid.context,
                    plan.grid.windows(),
                    !plan.grid.is_head_first,
                    plan.mode,
                    plan.weight_shards,
                    plan.gradient_shards,
                    plan.optimizer_shards,
                    plan.recompute,
                    plan.interleave,
                    plan.micro_batch,
                    !plan.hides_weights,
                    plan.has_memory_pool};
}

bool is_better(const TransformerChoice& a, const TransformerChoice& b) {
  if (a.time.iteration != b.time.iteration) return a.time.iteration < b.time.iteration;
  if (a.memory.needed != b.memory.needed) return a.memory.needed < b.memory.needed;
  return simplicity(a.plan) < simplicity(b.plan);
}

bool differs_only_in_variant(TransformerPlan a, const TransformerPlan& b) {
  a.hides_weights = b.hides_weights;
  a.has_memory_pool = b.has_memory_pool;
  return a == b;
}

struct Candidate {
  TransformerPlan plan;
  double least_seconds = 0;
  std::size_t order = 0;
};

class TransformerSearch {
 public:
  TransformerSearch(const TransformerRequest& request, std::size_t count)
      : request_{request}, count_{count} {}

  TransformerAnswer run() {
    std::vector<Candidate> candidates = possible();
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::tie(a.least_seconds, a.order) < std::tie(b.least_seconds, b.order);
    });
    for (const Candidate& candidate : candidates) {
      if (candidate.least_seconds > limit()) break;
      if (auto choice = best_shards(candidate.plan)) keep(std::move(*choice));
    }
    return std::move(answer_);
  }

 private:
  TransformerMemory memory_of(const TransformerPlan& plan) const {
    return predict::transformer_memory(request_.task.model, request_.task.sequence,
                                       request_.task.runtime, plan);
  }

  // Those that fit with the finest shards that are allowed, each with a time it cannot beat.
  std::vector<Candidate> possible() {
    std::vector<Candidate> candidates;
    for (TransformerPlan& plan : structures(request_)) {
      ++answer_.structures;
      const auto finest = finest_shards(plan);
      if (!finest) continue;
      const double needed = memory_of(*finest).needed;
      if (answer_.least_memory == 0 || needed < answer_.least_memory) answer_.least_memory = needed;
      if (needed > request_.memory_bytes) continue;
      const double least = predict::transformer_time(request_.task, plan).least();
      candidates.push_back({plan, least, candidates.size()});
    }
    return candidates;
  }

  // The one that needs least memory, if any is allowed.
  std::optional<TransformerPlan> finest_shards(const TransformerPlan& structure) const {
    std::optional<TransformerPlan> finest;
    double least = std::numeric_limits<double>::infinity();
    for (const TransformerPlan& plan : possibly_finest(structure)) {
      if (request_.can_run && !request_.can_run(plan)) continue;
      const double needed = memory_of(plan).needed;
      if (needed >= least) continue;
      least = needed;
      finest = plan;
    }
    return finest;
  }

  // Memory never grows with shards, but by what is gathered when weights are sharded at all.
  std::vector<TransformerPlan> possibly_finest(const TransformerPlan& structure) const {
    if (request_.can_run || request_.pins.wp || request_.pins.zp)
      return sharded(request_, structure);
    TransformerPlan plan = structure;
    plan.gradient_shards = plan.optimizer_shards = plan.same_weights();
    std::vector<TransformerPlan> plans;
    add_variants(request_.pins, plan, plans);
    if (plan.same_weights() == 1) return plans;
    plan.weight_shards = plan.same_weights();
    add_variants(request_.pins, plan, plans);
    return plans;
  }

  std::optional<TransformerChoice> best_shards(const TransformerPlan& structure) {
    std::optional<TransformerChoice> best;
    std::optional<TransformerChoice> before;
    for (const TransformerPlan& plan : sharded(request_, structure)) {
      const bool has_equal_shards = before && differs_only_in_variant(before->plan, plan);
      const bool now_waits = has_equal_shards && before->plan.hides_weights && !plan.hides_weights;
      // Waiting takes longer, unless the GPU waits for the CPU all the same.
      if (now_waits && before->time.launching == 0) continue;
      if (request_.can_run && !request_.can_run(plan)) continue;
      const TransformerMemory memory = memory_of(plan);
      if (memory.needed > request_.memory_bytes) continue;
      ++answer_.looked_at;
      // A pool takes no time.
      const bool is_known = has_equal_shards && !now_waits;
      const TransformerTime time =
          is_known ? before->time : predict::transformer_time(request_.task, plan);
      before = TransformerChoice{plan, time, memory};
      if (!best || is_better(*before, *best)) best = before;
    }
    return best;
  }

  double limit() const {
    return answer_.best.size() < count_ ? std::numeric_limits<double>::infinity()
                                        : answer_.best.back().time.iteration;
  }

  void keep(TransformerChoice choice) {
    auto& best = answer_.best;
    best.insert(std::upper_bound(best.begin(), best.end(), choice, is_better), std::move(choice));
    if (best.size() > count_) best.pop_back();
  }

  const TransformerRequest& request_;
  std::size_t count_;
  TransformerAnswer answer_;
};

}  // namespace

TransformerAnswer search_transformer(const TransformerRequest& request, std::size_t count) {
  return TransformerSearch{request, count}.run();
}

}  // namespace weir::plan
