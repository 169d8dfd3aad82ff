// SPDX-License-Identifier: Apache-2.0
//
// The changes that can relieve a stage (Aceso's reconfiguration primitives) and what each is expected to do to it. A move is about one
// stage; others take part as partners: they take its operators, give GPUs, or take them. The operators are
// evened out after a move, and what is computed again follows by itself, so that plans are compared at their best.
#pragma once

#include <array>
#include <vector>

#include "plan/training/op_balance.h"
#include "plan/training/plan_draft.h"
#include "plan/training/plan_path.h"

namespace weir::plan {

enum class Move : unsigned char {
  hand_over_ops,
  more_dp,  // twice the GPUs, from other stages
  more_tp,
  fewer_dp,  // half the GPUs, to other stages
  fewer_tp,
  larger_microbatch,  // of all stages
  smaller_microbatch,
  tp_for_dp,  // on the same GPUs
  dp_for_tp,
  other_dim,
};

inline constexpr std::array kMoves{
    Move::hand_over_ops,      Move::more_dp,   Move::more_tp,
    Move::fewer_dp,           Move::fewer_tp,  Move::larger_microbatch,
    Move::smaller_microbatch, Move::tp_for_dp, Move::dp_for_tp,
    Move::other_dim};

// What a move does to its stage, as a rule: -1 less, 0 the same, 1 more.
struct MoveEffect {
  int time = 0;
  int memory = 0;
  int communication = 0;
};
MoveEffect effect_of(Move move);
int effect_on(Move move, PlanResource resource);

// Moves in the order in which they are tried for a stage: by resource, from the most to the least pressing, first those that
// relieve it and press no other resource that is pressed already, then the others that relieve it; the rest last. Over the
// memory limit: only those that relieve memory.
std::vector<std::vector<Move>> move_groups(const std::vector<StageLoad>& loads, int stage);

class PlanMoves {
 public:
  explicit PlanMoves(DraftBook& book) : book_{book}, balance_{book} {}

  // The plans one move leads to, operators evened out; none slower than `most_steady`. All keep the rules of a plan (check_plan.h), none
  // need fit in memory: where operators cannot be spread so that it fits, they stay where they were.
  std::vector<CostedDraft> apply(Move move, const CostedDraft& from, int stage, double most_steady);

  // Operators evened out, each stage with the option that suits it best.
  CostedDraft settle(const Draft& draft, double most_steady);
  // Plans in which two stages have each other's number of GPUs, the best first.
  std::vector<CostedDraft> trade_gpus(const CostedDraft& from, double most_steady);
  OpBalance& balance() { return balance_; }

 private:
  std::vector<Draft> hand_over(const CostedDraft& from, int stage);
  std::vector<Draft> more_gpus(const CostedDraft& from, int stage, bool is_tp);
  std::vector<Draft> fewer_gpus(const CostedDraft& from, int stage, bool is_tp);
  std::vector<Draft> microbatches(const Draft& from, int step);
  // Each stage takes the option that suits it best. False: one has none at this size.
  bool set_size(Draft& draft, int size);
  std::vector<Draft> layouts(Move move, const Draft& from, int stage);
  // With stages on other numbers of GPUs; `option` is what stage `fixed` has.
  std::vector<Draft> regroup(const Draft& from, const std::vector<int>& gpus, int fixed,
                             int option);
  // -1: none.
  int best_option(const Draft& draft, int stage, int gpus, int gpus_before);
  bool pick_options(Draft& draft);
  std::vector<int> gpus_of(const Draft& draft) const;

  DraftBook& book_;
  OpBalance balance_;
};

}  // namespace weir::plan
