// SPDX-License-Identifier: Apache-2.0
#include "plan/training/alleviation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "plan/training/naive_plan.h"
#include "plan/training/plan_moves.h"

namespace weir::plan {

namespace {

constexpr int kMostHops = 7;
constexpr int kMostTrials = 100;
// Plans up to so much slower than the best with as many stages are looked at again later.
constexpr double kPromising = 1.2;
// How often a plan is opened: each time its next bottleneck is the target.
constexpr int kMostOpenings = 5;
// Plans expanded in one trial.
constexpr int kMostExpansions = 40;
// Small moves are worth it for plans up to so much slower than the best.
constexpr double kWorthPolish = 1.02;
// A trade of GPUs may be slower by this much before small moves, and so many are followed.
constexpr double kNear = 1.003;
constexpr std::size_t kMostPolished = 4;

// Every plan met, and from which it was made.
struct Node {
  CostedDraft it;
  int parent = -1;
};

// What the searches for all numbers of stages share.
struct Shared {
  Shared(const predict::IterationCosts& costs, const PlanRequest& request, SearchBudget& budget)
      : book{costs, request, budget} {}

  DraftBook book;
  PlanMoves moves{book};
  std::vector<Node> nodes;
  int best = -1;

  double best_us() const {
    return best < 0 ? kImpossible : nodes[static_cast<std::size_t>(best)].it.cost.iteration();
  }
  int add(CostedDraft it, int parent) {
    nodes.push_back({std::move(it), parent});
    const int made = static_cast<int>(nodes.size()) - 1;
    if (nodes.back().it.cost.iteration() < best_us()) best = made;
    return made;
  }
  const CostedDraft& at(int node) const { return nodes[static_cast<std::size_t>(node)].it; }
};

class StageCountSearch {
 public:
  StageCountSearch(Shared& shared, int stages) : shared_{shared}, stages_{stages} {}

  // False: there is no naive plan.
  bool start();
  // One more bottleneck relieved, or one more plan explored. False: nothing is left to try.
  bool trial();
  bool is_first_trial() const { return trials_ == 1; }
  int stages() const { return stages_; }
  double best_us() const { return best_ < 0 ? kImpossible : shared_.at(best_).cost.iteration(); }
  // No plan with so many stages is faster.
  double bound_us() const { return bound_us_; }

 private:
  int multi_hop(int node, int hop, const DraftCost& to_beat);
  std::optional<int> target(int node);
  int add(CostedDraft it, int parent);
  void polish();
  bool keep_polished(const CostedDraft& from);
  bool open_next();
  double most_steady() const {
    return best_us() == kImpossible ? kImpossible : shared_.at(best_).cost.steady * kPromising;
  }

  Shared& shared_;
  int stages_;
  double bound_us_ = kImpossible;
  int best_ = -1;
  int current_ = -1;
  int trials_ = 0;
  int expansions_ = 0;
  bool was_traded_ = false;
  std::map<Draft, int> hop_of_;     // the least at which a plan was met
  std::map<Draft, int> openings_;   // how many of its bottlenecks were targets
  std::map<Draft, int> promising_;  // not expanded yet, by plan: its node
};

int StageCountSearch::add(CostedDraft it, int parent) {
  const int node = shared_.add(std::move(it), parent);
  if (best_ < 0 || shared_.at(node).cost.is_better_than(shared_.at(best_).cost)) best_ = node;
  return node;
}

bool StageCountSearch::start() {
  DraftBook& book = shared_.book;
  for (int size = 0; size < book.sizes(); ++size) {
    bound_us_ = std::min(bound_us_, book.bound_us(size, stages_));
  }
  const auto gpus = doubled_gpus(book.costs().cluster(), book.request(), stages_);
  if (!gpus) return false;
  const auto plan = naive_plan(book.costs(), book.request(), *gpus);
  if (!plan) return false;
  const Draft draft = book.draft(plan->microbatch, plan->cuts, plan->layouts);
  const int naive = add({draft, book.cost(draft)}, -1);
  CostedDraft settled = shared_.moves.settle(draft, kImpossible);
  current_ = naive;
  if (settled.cost.is_better_than(shared_.at(naive).cost))
    current_ = add(std::move(settled), naive);
  return true;
}

// The worst stage of the plan that was no target yet.
std::optional<int> StageCountSearch::target(int node) {
  const CostedDraft& it = shared_.at(node);
  int& opened = openings_[it.draft];
  if (opened >= std::min(stages_, kMostOpenings)) return std::nullopt;
  return by_pressure(shared_.book.loads(it.draft, it.cost))[static_cast<std::size_t>(opened++)];
}

// A plan better than `to_beat`, by up to kMostHops moves; -1: none found.
int StageCountSearch::multi_hop(int node, int hop, const DraftCost& to_beat) {
  if (hop >= kMostHops || expansions_ >= kMostExpansions || shared_.book.budget().is_spent()) {
    return -1;
  }
  ++expansions_;
  const CostedDraft from = shared_.at(node);
  promising_.erase(from.draft);
  const auto stage = target(node);
  if (!stage) return -1;
  for (const auto& group : move_groups(shared_.book.loads(from.draft, from.cost), *stage)) {
    std::vector<int> made;
    for (const Move move : group) {
      for (CostedDraft& it : shared_.moves.apply(move, from, *stage, most_steady())) {
        const auto [place, is_new] = hop_of_.try_emplace(it.draft, hop + 1);
        if (!is_new && place->second <= hop + 1) continue;
        place->second = hop + 1;
        if (it.cost.fits() && it.cost.iteration() > best_us() * kPromising) continue;
        const int child = add(std::move(it), node);
        if (is_new) promising_.emplace(shared_.at(child).draft, child);
        made.push_back(child);
      }
    }
    std::ranges::stable_sort(
        made, [&](int a, int b) { return shared_.at(a).cost.is_better_than(shared_.at(b).cost); });
    if (!made.empty() && shared_.at(made.front()).cost.is_better_than(to_beat)) return made.front();
    for (const int child : made) {
      const int found = multi_hop(child, hop + 1, to_beat);
      if (found >= 0) return found;
    }
  }
  return -1;
}

// Small moves, then GPUs traded between two stages, until neither helps.
void StageCountSearch::polish() {
  const auto is_worth_it = [&] {
    const DraftCost& cost = shared_.at(best_).cost;
    return cost.fits() && cost.iteration() <= shared_.best_us() * kWorthPolish;
  };
  if (!is_worth_it()) return;
  bool is_better = keep_polished(shared_.at(best_)) || !was_traded_;
  while (is_better && is_worth_it()) {
    was_traded_ = true;
    is_better = false;
    const CostedDraft from = shared_.at(best_);
    auto traded = shared_.moves.trade_gpus(from, from.cost.steady * kNear);
    if (traded.size() > kMostPolished) traded.resize(kMostPolished);
    for (const CostedDraft& it : traded) is_better = keep_polished(it) || is_better;
  }
}

bool StageCountSearch::keep_polished(const CostedDraft& from) {
  CostedDraft made = shared_.moves.balance().polish(from);
  if (!made.cost.is_better_than(shared_.at(best_).cost)) return false;
  hop_of_.try_emplace(made.draft, 0);
  add(std::move(made), best_);
  return true;
}

// The most promising plan that was not expanded.
bool StageCountSearch::open_next() {
  int next = -1;
  const auto consider = [&](int node) {
    if (next < 0 || shared_.at(node).cost.is_better_than(shared_.at(next).cost)) next = node;
  };
  for (const auto& [draft, node] : promising_) {
    if (shared_.at(node).cost.iteration() <= best_us() * kPromising) consider(node);
  }
  current_ = next;
  return next >= 0;
}

bool StageCountSearch::trial() {
  if (++trials_ > kMostTrials) return false;
  expansions_ = 0;
  const DraftCost to_beat = shared_.at(current_).cost;
  const int best_before = best_;
  int found = -1;
  for (int i = 0; i < stages_ && found < 0; ++i) found = multi_hop(current_, 0, to_beat);
  if (best_ != best_before || trials_ == 1) polish();
  if (found >= 0) {
    current_ = best_ != best_before ? best_ : found;
    return true;
  }
  return open_next();
}

std::vector<PathPlan> way_to(Shared& shared, int node) {
  std::vector<PathPlan> plans;
  for (; node >= 0; node = shared.nodes[static_cast<std::size_t>(node)].parent) {
    TrainingPlan plan = shared.book.plan(shared.at(node).draft);
    predict::PlanCost cost = shared.book.costs().plan_unchecked(plan);
    plans.push_back({std::move(plan), std::move(cost)});
  }
  std::ranges::reverse(plans);
  return plans;
}

Error nothing_fits() {
  Diagnostics details;
  details.add({"", 0, "memory", "", "more"});
  return {ErrorCode::infeasible, details};
}

}  // namespace

Result<AlleviationAnswer> alleviate(const predict::IterationCosts& costs,
                                    const PlanRequest& request, SearchBudget& budget,
                                    const std::function<void(const SearchNews&)>& tell) {
  Shared shared{costs, request, budget};
  std::vector<std::unique_ptr<StageCountSearch>> searches;
  double bound_us = kImpossible;
  for (int stages = 1; stages <= costs.cluster().gpus(); ++stages) {
    if (request.stages && *request.stages != stages) continue;
    auto search = std::make_unique<StageCountSearch>(shared, stages);
    const bool has_plan = search->start();
    bound_us = std::min(bound_us, search->bound_us());
    if (has_plan) searches.push_back(std::move(search));
  }
  while (!searches.empty() && !budget.is_spent()) {
    std::ranges::stable_sort(searches, {}, [](const auto& search) { return search->best_us(); });
    std::erase_if(searches, [&](const auto& search) {
      if (search->bound_us() >= shared.best_us()) return true;
      const double before_us = shared.best_us();
      const bool has_more = search->trial();
      if (tell && (shared.best_us() < before_us || search->is_first_trial())) {
        tell({fmt::format("bottlenecks of {} stages", search->stages()), shared.best_us() / 1000,
              bound_us / 1000});
      }
      return !has_more;
    });
  }
  if (shared.best_us() == kImpossible) return tl::unexpected<Error>(nothing_fits());
  std::vector<PathPlan> way = way_to(shared, shared.best);
  AlleviationAnswer answer;
  answer.start = way.front().plan;
  answer.path = plan_path(costs, way);
  answer.best.plan = std::move(way.back().plan);
  answer.best.cost = std::move(way.back().cost);
  answer.best.lower_bound_ms = std::min(bound_us, shared.best_us()) / 1000.0;
  answer.best.evaluations = budget.used();
  return answer;
}

}  // namespace weir::plan
