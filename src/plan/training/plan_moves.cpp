// SPDX-License-Identifier: Apache-2.0
#include "plan/training/plan_moves.h"

#include <algorithm>
#include <numeric>

#include "plan/training/container_index.h"
#include "plan/training/naive_plan.h"

namespace weir::plan {

namespace {

// Shares of the gap between the bottleneck and its partner that operators are to close.
constexpr std::array kGoalShares{0.4, 0.2, 0.0};

}  // namespace

MoveEffect effect_of(Move move) {
  switch (move) {
    case Move::hand_over_ops:
      return {-1, -1, 0};
    case Move::more_dp:
    case Move::more_tp:
      return {-1, -1, 1};
    case Move::fewer_dp:
    case Move::fewer_tp:
      return {1, 1, -1};
    case Move::larger_microbatch:
      return {-1, 1, 0};
    case Move::smaller_microbatch:
      return {1, -1, 0};
    case Move::tp_for_dp:
      return {1, -1, 1};
    case Move::dp_for_tp:
      return {-1, 1, -1};
    case Move::other_dim:
      break;
  }
  return {0, 0, -1};
}

// Less memory means less to compute again.
int effect_on(Move move, PlanResource resource) {
  const MoveEffect effect = effect_of(move);
  switch (resource) {
    case PlanResource::compute:
      return effect.time;
    case PlanResource::communication:
      return effect.communication;
    case PlanResource::recomputation:
    case PlanResource::memory:
      break;
  }
  return effect.memory;
}

std::vector<std::vector<Move>> move_groups(const std::vector<StageLoad>& loads, int stage) {
  std::vector<std::vector<Move>> groups;
  std::vector<Move> left{kMoves.begin(), kMoves.end()};
  const auto take = [&](const auto& fits) {
    std::vector<Move> group;
    std::ranges::copy_if(left, std::back_inserter(group), fits);
    std::erase_if(left, fits);
    if (!group.empty()) groups.push_back(std::move(group));
  };
  const auto order = by_share(loads, stage);
  if (order.front() == PlanResource::memory) {
    take([](Move move) { return effect_on(move, PlanResource::memory) < 0; });
    return groups;
  }
  for (const PlanResource resource : order) {
    const auto relieves = [&](Move move) { return effect_on(move, resource) < 0; };
    const auto presses = [&](Move move) {
      return std::ranges::any_of(order, [&](PlanResource other) {
        return other != resource && effect_on(move, other) > 0 && is_pressed(loads, stage, other);
      });
    };
    take([&](Move move) { return relieves(move) && !presses(move); });
    take(relieves);
  }
  take([](Move) { return true; });
  return groups;
}

std::vector<int> PlanMoves::gpus_of(const Draft& draft) const {
  std::vector<int> gpus;
  for (int i = 0; i < draft.count(); ++i) gpus.push_back(book_.gpus(draft, i));
  return gpus;
}

int PlanMoves::best_option(const Draft& draft, int stage, int gpus, int gpus_before) {
  int best = -1;
  double least = kImpossible;
  double least_missing = kImpossible;
  DraftStage it = draft.at(stage);
  const int behind = draft.count() - 1 - stage;
  for (const int option : book_.options_on(draft.size, gpus)) {
    it.option = option;
    const double steady = book_.span(draft.size, it, behind, gpus_before).steady;
    const double missing = steady < kImpossible ? 0 : book_.missing_mib(draft.size, it, behind);
    if (best < 0 || steady < least || (steady == least && missing < least_missing)) {
      best = option;
      least = steady;
      least_missing = missing;
    }
  }
  return best;
}

// Whether an option changed.
bool PlanMoves::pick_options(Draft& draft) {
  bool is_changed = false;
  int before = 0;
  for (int i = 0; i < draft.count(); ++i) {
    const int gpus = book_.gpus(draft, i);
    const int best = best_option(draft, i, gpus, before);
    is_changed = is_changed || best != draft.at(i).option;
    draft.at(i).option = best;
    before += gpus;
  }
  return is_changed;
}

CostedDraft PlanMoves::settle(const Draft& draft, double most_steady) {
  const auto even = balance_.even_out(draft, most_steady);
  CostedDraft settled{even ? *even : draft, book_.cost(even ? *even : draft)};
  Draft picked = settled.draft;
  if (!pick_options(picked)) return settled;
  const auto again =
      balance_.even_out(picked, settled.cost.fits() ? settled.cost.steady : most_steady);
  if (again) picked = *again;
  DraftCost cost = book_.cost(picked);
  if (cost.is_better_than(settled.cost)) settled = {std::move(picked), std::move(cost)};
  return settled;
}

// The partner is the stage with most to spare.
std::vector<Draft> PlanMoves::hand_over(const CostedDraft& from, int stage) {
  std::vector<Draft> drafts;
  const auto& spans = from.cost.spans;
  const double mine = spans[at(stage)].steady;
  int partner = -1;
  for (int i = 0; i < from.draft.count(); ++i) {
    if (i == stage || spans[at(i)].steady >= mine) continue;
    if (partner < 0 || spans[at(i)].steady < spans[at(partner)].steady) partner = i;
  }
  if (partner < 0) return drafts;
  const double least = spans[at(partner)].steady;
  for (const double share : kGoalShares) {
    // Over the memory limit any time will do.
    const double goal =
        mine < kImpossible ? mine - share * (mine - least) : std::numeric_limits<double>::max();
    auto handed = balance_.hand_over(from.draft, stage, partner, goal * (1 - 1e-9));
    if (handed) drafts.push_back(std::move(*handed));
    if (mine == kImpossible) break;
  }
  return drafts;
}

std::vector<Draft> PlanMoves::regroup(const Draft& from, const std::vector<int>& gpus, int fixed,
                                      int option) {
  if (!is_legal(book_.costs().cluster(), book_.request(), gpus)) return {};
  Draft draft = from;
  int before = 0;
  for (int i = 0; i < draft.count(); ++i) {
    if (i == fixed) {
      draft.at(i).option = option;
    } else if (gpus[at(i)] != book_.gpus(from, i)) {
      const int best = best_option(draft, i, gpus[at(i)], before);
      if (best < 0) return {};
      draft.at(i).option = best;
    }
    before += gpus[at(i)];
  }
  return {std::move(draft)};
}

// Producers in the order of their time after giving half of their GPUs; the first of them is left out more and more
// often. What they give too much goes to the slowest stages.
std::vector<Draft> PlanMoves::more_gpus(const CostedDraft& from, int stage, bool is_tp) {
  StageLayout layout = book_.layout(from.draft.size, from.draft.at(stage).option);
  (is_tp ? layout.tp : layout.dp) *= 2;
  const int option = book_.option_of(from.draft.size, layout);
  if (option < 0) return {};
  const std::vector<int> gpus = gpus_of(from.draft);
  struct Producer {
    int stage;
    double steady_after;
  };
  std::vector<Producer> producers;
  int before = 0;
  for (int i = 0; i < from.draft.count(); ++i) {
    if (i != stage && gpus[at(i)] > 1) {
      Draft halved = from.draft;
      const int half = best_option(halved, i, gpus[at(i)] / 2, before);
      if (half >= 0) {
        halved.at(i).option = half;
        producers.push_back(
            {i, book_.span(halved.size, halved.at(i), halved.count() - 1 - i, before).steady});
      }
    }
    before += gpus[at(i)];
  }
  std::ranges::stable_sort(producers, {}, &Producer::steady_after);
  std::vector<int> consumers(at(from.draft.count()));
  std::iota(consumers.begin(), consumers.end(), 0);
  std::ranges::stable_sort(consumers, std::ranges::greater{},
                           [&](int i) { return from.cost.spans[at(i)].steady; });
  std::vector<Draft> drafts;
  for (std::size_t leave_out = 0; leave_out < producers.size(); ++leave_out) {
    std::vector<int> after = gpus;
    int spare = -gpus[at(stage)];
    after[at(stage)] *= 2;
    for (std::size_t i = leave_out; i < producers.size() && spare < 0; ++i) {
      int& giver = after[at(producers[i].stage)];
      giver /= 2;
      spare += giver;
    }
    for (const int consumer : consumers) {
      if (spare <= 0) break;
      if (after[at(consumer)] != gpus[at(consumer)] || gpus[at(consumer)] > spare) continue;
      spare -= gpus[at(consumer)];
      after[at(consumer)] *= 2;
    }
    if (spare != 0) continue;
    for (Draft& draft : regroup(from.draft, after, stage, option))
      drafts.push_back(std::move(draft));
  }
  return drafts;
}

std::vector<Draft> PlanMoves::fewer_gpus(const CostedDraft& from, int stage, bool is_tp) {
  StageLayout layout = book_.layout(from.draft.size, from.draft.at(stage).option);
  int& degree = is_tp ? layout.tp : layout.dp;
  if (degree == 1) return {};
  degree /= 2;
  const int option = book_.option_of(from.draft.size, layout);
  if (option < 0) return {};
  const std::vector<int> gpus = gpus_of(from.draft);
  std::vector<int> consumers;
  for (int i = 0; i < from.draft.count(); ++i) {
    if (i != stage) consumers.push_back(i);
  }
  std::ranges::stable_sort(consumers, std::ranges::greater{},
                           [&](int i) { return from.cost.spans[at(i)].steady; });
  std::vector<Draft> drafts;
  for (std::size_t leave_out = 0; leave_out < consumers.size(); ++leave_out) {
    std::vector<int> after = gpus;
    after[at(stage)] /= 2;
    int spare = after[at(stage)];
    for (std::size_t i = leave_out; i < consumers.size() && spare > 0; ++i) {
      const int consumer = consumers[i];
      if (gpus[at(consumer)] > spare) continue;
      spare -= gpus[at(consumer)];
      after[at(consumer)] *= 2;
    }
    if (spare != 0) continue;
    for (Draft& draft : regroup(from.draft, after, stage, option))
      drafts.push_back(std::move(draft));
  }
  return drafts;
}

bool PlanMoves::set_size(Draft& draft, int size) {
  const std::vector<int> gpus = gpus_of(draft);
  draft.size = size;
  int before = 0;
  for (int i = 0; i < draft.count(); ++i) {
    draft.at(i).option = best_option(draft, i, gpus[at(i)], before);
    if (draft.at(i).option < 0) return false;
    before += gpus[at(i)];
  }
  return true;
}

// Every larger or smaller one, the next first: a size in between need not suit the replicas.
std::vector<Draft> PlanMoves::microbatches(const Draft& from, int step) {
  std::vector<Draft> drafts;
  for (int size = from.size + step; size >= 0 && size < book_.sizes(); size += step) {
    Draft draft = from;
    if (set_size(draft, size)) drafts.push_back(std::move(draft));
  }
  return drafts;
}

std::vector<CostedDraft> PlanMoves::trade_gpus(const CostedDraft& from, double most_steady) {
  std::vector<CostedDraft> made;
  const std::vector<int> gpus = gpus_of(from.draft);
  for (int i = 0; i < from.draft.count(); ++i) {
    for (int j = i + 1; j < from.draft.count(); ++j) {
      if (gpus[at(i)] == gpus[at(j)]) continue;
      std::vector<int> after = gpus;
      std::swap(after[at(i)], after[at(j)]);
      for (const Draft& draft : regroup(from.draft, after, -1, -1)) {
        const auto even = balance_.even_out(draft, most_steady);
        if (even) made.push_back({*even, book_.cost(*even)});
      }
    }
  }
  std::ranges::stable_sort(made, [](const CostedDraft& a, const CostedDraft& b) {
    return a.cost.is_better_than(b.cost);
  });
  return made;
}

std::vector<Draft> PlanMoves::layouts(Move move, const Draft& from, int stage) {
  std::vector<Draft> drafts;
  const StageLayout now = book_.layout(from.size, from.at(stage).option);
  for (const int option : book_.options_on(from.size, now.tp * now.dp)) {
    const StageLayout& other = book_.layout(from.size, option);
    const bool is_asked = move == Move::tp_for_dp   ? other.tp == now.tp * 2 && other.dim == now.dim
                          : move == Move::dp_for_tp ? other.tp * 2 == now.tp && other.dim == now.dim
                                                    : other.tp == now.tp && other.dim != now.dim;
    if (!is_asked) continue;
    drafts.push_back(from);
    drafts.back().at(stage).option = option;
  }
  return drafts;
}

std::vector<CostedDraft> PlanMoves::apply(Move move, const CostedDraft& from, int stage,
                                          double most_steady) {
  std::vector<Draft> drafts;
  switch (move) {
    case Move::hand_over_ops:
      drafts = hand_over(from, stage);
      break;
    case Move::more_dp:
    case Move::more_tp:
      drafts = more_gpus(from, stage, move == Move::more_tp);
      break;
    case Move::fewer_dp:
    case Move::fewer_tp:
      drafts = fewer_gpus(from, stage, move == Move::fewer_tp);
      break;
    case Move::larger_microbatch:
      drafts = microbatches(from.draft, 1);
      break;
    case Move::smaller_microbatch:
      drafts = microbatches(from.draft, -1);
      break;
    case Move::tp_for_dp:
    case Move::dp_for_tp:
    case Move::other_dim:
      drafts = layouts(move, from.draft, stage);
      break;
  }
  std::vector<CostedDraft> made;
  for (const Draft& draft : drafts) {
    if (move == Move::hand_over_ops) made.push_back({draft, book_.cost(draft)});
    made.push_back(settle(draft, most_steady));
  }
  return made;
}

}  // namespace weir::plan
