// SPDX-License-Identifier: Apache-2.0
//
// Moves of operators along the pipeline: which stage runs which, while the stages keep their GPUs. Aceso's dec_op and its
// partner: a stage over a goal hands the operators at its end to its neighbour, which hands on what is too much for it.
#pragma once

#include <optional>

#include "plan/training/plan_draft.h"

namespace weir::plan {

class OpBalance {
 public:
  explicit OpBalance(DraftBook& book) : book_{book} {}

  // The slowest stage as quick as can be when all stages keep their options: the least goal that every stage meets.
  // Nothing when no stage time up to `most_steady` can be met.
  std::optional<Draft> even_out(const Draft& draft, double most_steady = kImpossible);

  // From `from` towards `to`: each stage on the way hands on the fewest operators that bring it under the goal.
  std::optional<Draft> hand_over(const Draft& draft, int from, int to, double goal);

  // Small moves that shorten the iteration until none is left: one cut, two and three neighbouring cuts, runs of cuts
  // together, and another option of a stage on the same GPUs. Requires: the draft fits.
  CostedDraft polish(const CostedDraft& draft);

 private:
  enum class Side : unsigned char { front, back };
  std::optional<Draft> fill(const Draft& draft, double goal, Side side);
  std::optional<Draft> tighten(const Draft& draft, double most_steady, double precision, Side side);
  double steady(const Draft& draft, int stage, int first, int end);

  DraftBook& book_;
};

}  // namespace weir::plan
