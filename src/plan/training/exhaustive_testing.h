// SPDX-License-Identifier: Apache-2.0
//
// For tests: the fastest plan whose stages are spread alike, by trying every plan: all stage counts, cuts, GPUs, layouts
// and microbatch sizes. Shares nothing with the search but the cost of a stage and the derived rule. Stages are remembered,
// nothing is left out.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "plan/training/plan_search.h"
#include "predict/training/derived_recompute.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

enum class TriedRecompute : unsigned char {
  derived,
  every_set,  // also of operators that are never computed again
};

class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const predict::IterationCosts& costs, const PlanRequest& request,
                   TriedRecompute recompute)
      : costs_{costs}, request_{request}, recompute_{recompute} {}

  // Milliseconds; infinity when no plan fits.
  double best_ms() {
    best_us_ = kNone;
    for (const int microbatch : request_.microbatches) {
      if (request_.batch % microbatch != 0) continue;
      microbatch_ = microbatch;
      stages_.clear();
      const int most = std::min(costs_.cluster().gpus(), costs_.ops().size());
      for (int stages = 1; stages <= most; ++stages) {
        if (!request_.stages || stages == *request_.stages) try_stages(stages - 1, 0, 0, 0, 0);
      }
    }
    return best_us_ / 1000.0;
  }

 private:
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  struct Span {
    double steady = kNone;
    double traverse = kNone;
  };
  struct Layout {
    int tp, dp, dim;
  };

  // The stages before take `steady` at most and `traverse` together.
  void try_stages(int behind, int first, int gpus_before, double steady, double traverse) {
    const int last_end = costs_.ops().size() - behind;
    for (int gpus = 1; gpus_before + gpus <= costs_.cluster().gpus(); gpus *= 2) {
      if (behind == 0 && gpus_before + gpus != costs_.cluster().gpus()) continue;
      const int per_node = costs_.cluster().gpus_per_node;
      const bool straddles = gpus_before / per_node != (gpus_before + gpus - 1) / per_node;
      if (straddles && !request_.stages_may_straddle_nodes) continue;
      for (int end = behind == 0 ? last_end : first + 1; end <= last_end; ++end) {
        for (int tp = 1; tp <= std::min(gpus, per_node); tp *= 2) {
          for (int dim = 0; dim < 2; ++dim) {
            const Span& span = stage(first, end, behind, gpus_before, {tp, gpus / tp, dim});
            if (span.steady == kNone) continue;
            const double slowest = std::max(steady, span.steady);
            const double sum = traverse + span.traverse;
            if (behind > 0) {
              try_stages(behind - 1, end, gpus_before + gpus, slowest, sum);
            } else {
              best_us_ = std::min(best_us_, slowest + sum);
            }
          }
        }
      }
    }
  }

  const Span& stage(int first, int end, int behind, int gpus_before, Layout layout) {
    const auto key = std::tuple{first, end, behind, gpus_before, layout.tp, layout.dp, layout.dim};
    const auto [place, is_new] = stages_.try_emplace(key);
    if (is_new) place->second = evaluate(first, end, behind, gpus_before, layout);
    return place->second;
  }

  Span evaluate(int first, int end, int behind, int gpus_before, Layout layout) const {
    const bool has_dim = layout.tp > 1 || !costs_.options().one_measurement_at_tp1;
    const int replica = microbatch_ / layout.dp;
    if (layout.dim == 1 && !has_dim) return {};
    if (microbatch_ % layout.dp != 0 || !costs_.has(replica, layout.tp, layout.dim)) return {};
    if (std::ranges::find(request_.microbatches, replica) == request_.microbatches.end()) return {};
    const int per_node = costs_.cluster().gpus_per_node;
    const int gpus_after = gpus_before + layout.tp * layout.dp;
    const predict::StagePlace place{behind, gpus_before > 0 && gpus_before % per_node == 0,
                                    gpus_after % per_node == 0};
    std::vector<PlanOp> ops(static_cast<std::size_t>(end - first),
                            PlanOp{.tp = static_cast<std::int16_t>(layout.tp),
                                   .dp = static_cast<std::int16_t>(layout.dp),
                                   .dim = static_cast<std::int8_t>(layout.dim)});
    const double limit = costs_.cluster().memory_mib;
    if (recompute_ == TriedRecompute::derived) {
      if (!predict::derive_recompute(costs_, first, ops, microbatch_, place, limit)) return {};
      return span_of(costs_.stage(first, ops, microbatch_, place));
    }
    Span best;
    for (std::uint64_t set = 0; set < (std::uint64_t{1} << ops.size()); ++set) {
      for (std::size_t i = 0; i < ops.size(); ++i) ops[i].recompute = ((set >> i) & 1U) != 0;
      const auto cost = costs_.stage(first, ops, microbatch_, place);
      if (cost.memory.total() > limit) continue;
      const Span span = span_of(cost);  // less recomputation is better in both
      if (span.traverse < best.traverse) best = span;
    }
    return best;
  }

  Span span_of(const predict::StageCost& cost) const {
    return {cost.time.pace * (request_.batch / microbatch_ - 1) + cost.time.finish(),
            cost.time.traverse};
  }

  const predict::IterationCosts& costs_;
  const PlanRequest& request_;
  TriedRecompute recompute_;
  int microbatch_ = 0;
  double best_us_ = kNone;
  std::map<std::tuple<int, int, int, int, int, int, int>, Span> stages_;
};

}  // namespace weir::plan
