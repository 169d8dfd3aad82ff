// SPDX-License-Identifier: Apache-2.0
#include "plan/training/op_balance.h"

#include <algorithm>
#include <array>

namespace weir::plan {

namespace {

constexpr double kCoarse = 1e-3;     // of a goal, while plans are compared
constexpr double kFine = 1e-6;       // of a goal, before small moves
constexpr double kFirstGoal = 1.05;  // of perfectly shared work
constexpr double kNextGoal = 1.3;    // where nothing is known yet
constexpr int kMostGoals = 24;       // up to about 500 times that
constexpr int kReach = 24;           // cuts alone, and runs of cuts: a layer and more
constexpr int kPairReach = 7;        // two neighbouring cuts
constexpr int kTripleReach = 2;      // three

int gpus_before(const DraftBook& book, const Draft& draft, int stage) {
  int before = 0;
  for (int i = 0; i < stage; ++i) before += book.gpus(draft, i);
  return before;
}

// The last number of [from, to] in direction of `to` for which `holds`, which turns false once, almost: at the border a
// few more are tried.
template <class Holds>
std::optional<int> furthest(int from, int to, int tries, const Holds& holds) {
  if (!holds(from)) return std::nullopt;
  if (from == to || holds(to)) return to;
  const int step = to < from ? -1 : 1;
  int good = from;
  int bad = to;
  while (good + step != bad) {
    const int middle = (good + bad) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  for (int more = 1; more <= tries && bad != to; ++more) {
    bad += step;
    if (bad == to) break;
    if (holds(bad)) {
      good = bad;
      more = 0;
    }
  }
  return good;
}

}  // namespace

double OpBalance::steady(const Draft& draft, int stage, int first, int end) {
  return book_
      .span(draft.size, {first, end, draft.at(stage).option}, draft.count() - 1 - stage,
            gpus_before(book_, draft, stage))
      .steady;
}

// From one side each stage takes as much as the goal allows; nothing when the last one cannot take the rest.
std::optional<Draft> OpBalance::fill(const Draft& draft, double goal, Side side) {
  constexpr int kTries = 6;
  Draft filled = draft;
  const int stages = draft.count();
  const int last = stages - 1;
  for (int i = 0; i < stages; ++i) {
    const int stage = side == Side::front ? i : last - i;
    DraftStage& it = filled.at(stage);
    const auto meets = [&](int first, int end) { return steady(draft, stage, first, end) <= goal; };
    if (side == Side::front) {
      it.first = stage == 0 ? 0 : filled.at(stage - 1).end;
      if (stage == last) {
        it.end = book_.ops();
        if (it.first >= it.end || !meets(it.first, it.end)) return std::nullopt;
        break;
      }
      const auto end = furthest(it.first + 1, book_.ops() - (last - stage), kTries,
                                [&](int to) { return meets(it.first, to); });
      if (!end) return std::nullopt;
      it.end = *end;
    } else {
      it.end = stage == last ? book_.ops() : filled.at(stage + 1).first;
      if (stage == 0) {
        it.first = 0;
        if (it.end <= 0 || !meets(0, it.end)) return std::nullopt;
        break;
      }
      const auto first =
          furthest(it.end - 1, stage, kTries, [&](int from) { return meets(from, it.end); });
      if (!first) return std::nullopt;
      it.first = *first;
    }
  }
  return filled;
}

std::optional<Draft> OpBalance::tighten(const Draft& draft, double most_steady, double precision,
                                        Side side) {
  double low = book_.ideal_steady(draft.size);
  std::optional<Draft> best;
  double high = most_steady;
  if (most_steady < kImpossible) {
    best = fill(draft, most_steady, side);
  } else {
    high = low * kFirstGoal;
    for (int i = 0; i < kMostGoals && !best; ++i, high *= kNextGoal) {
      best = fill(draft, high, side);
      if (!best) low = high;
      if (best) break;
    }
  }
  while (best && !book_.budget().is_spent() && high - low > precision * high) {
    const double goal = (low + high) / 2;
    auto better = fill(draft, goal, side);
    if (better) {
      best = std::move(better);
      high = goal;
    } else {
      low = goal;
    }
  }
  return best;
}

std::optional<Draft> OpBalance::even_out(const Draft& draft, double most_steady) {
  return tighten(draft, most_steady, kCoarse, Side::front);
}

std::optional<Draft> OpBalance::hand_over(const Draft& draft, int from, int to, double goal) {
  Draft changed = draft;
  const int step = to < from ? -1 : 1;
  for (int stage = from; stage != to; stage += step) {
    DraftStage& it = changed.at(stage);
    DraftStage& next = changed.at(stage + step);
    const auto meets = [&](int first, int end) {
      return steady(changed, stage, first, end) <= goal;
    };
    if (step > 0) {
      const auto end = furthest(it.first + 1, it.end, 0, [&](int x) { return meets(it.first, x); });
      if (!end) return std::nullopt;
      it.end = next.first = *end;
    } else {
      const auto first = furthest(it.end - 1, it.first, 0, [&](int x) { return meets(x, it.end); });
      if (!first) return std::nullopt;
      it.first = next.end = *first;
    }
  }
  return changed;
}

namespace {

// A draft on its way to a local optimum; only the stages a move touches are looked at again.
class Polisher {
 public:
  Polisher(DraftBook& book, CostedDraft start)
      : book_{book}, draft_{std::move(start.draft)}, cost_{std::move(start.cost)} {
    for (int i = 0; i < draft_.count(); ++i) before_.push_back(gpus_before(book_, draft_, i));
  }

  CostedDraft run() {
    bool is_better = true;
    while (is_better && !book_.budget().is_spent()) {
      is_better = shift_runs() || shift_neighbours<2>(kPairReach) || change_options() ||
                  shift_neighbours<3>(kTripleReach);
    }
    return {draft_, cost_};
  }

 private:
  int cuts() const { return draft_.count() - 1; }
  int cut(int i) const { return draft_.at(i + 1).first; }
  void set_cut(int i, int op) { draft_.at(i).end = draft_.at(i + 1).first = op; }

  bool are_cuts_in_order(int first, int last) const {
    for (int i = first; i <= last; ++i) {
      if (draft_.at(i).first >= draft_.at(i).end) return false;
    }
    return true;
  }

  // Keeps the draft when stages [first, last], the only ones that changed, make it faster.
  bool keep(int first, int last) {
    if (!are_cuts_in_order(first, last)) return false;
    fresh_.clear();
    double steady = 0;
    double traverse = 0;
    for (int i = 0; i < draft_.count(); ++i) {
      StageSpan span = cost_.spans[static_cast<std::size_t>(i)];
      if (i >= first && i <= last) {
        const DraftStage& it = draft_.at(i);
        span = book_.span(draft_.size, it, draft_.count() - 1 - i,
                          before_[static_cast<std::size_t>(i)]);
        fresh_.push_back(span);
      }
      steady = std::max(steady, span.steady);
      traverse += span.traverse;
      if (steady + traverse >= cost_.iteration() * kJustBelow) return false;
    }
    std::ranges::copy(fresh_, cost_.spans.begin() + first);
    cost_.steady = steady;
    cost_.traverse = traverse;
    return true;
  }

  // Cuts [from, from + count) all by the same number of operators: one cut, two, ... all.
  bool shift_runs() {
    bool is_better = false;
    for (int count = 1; count <= cuts(); ++count) {
      for (int from = 0; from + count <= cuts(); ++from) {
        for (int by = 1; by <= kReach; ++by) {
          is_better = shift(from, count, by) || is_better;
          is_better = shift(from, count, -by) || is_better;
        }
      }
    }
    return is_better;
  }
  bool shift(int from, int count, int by) {
    for (int i = from; i < from + count; ++i) set_cut(i, cut(i) + by);
    if (keep(from, from + count)) return true;
    for (int i = from; i < from + count; ++i) set_cut(i, cut(i) - by);
    return false;
  }

  // Neighbouring cuts, each to every place within reach.
  template <int count>
  bool shift_neighbours(int reach) {
    for (int from = 0; from + count <= cuts(); ++from) {
      std::array<int, count> by;
      by.fill(-reach);
      for (bool is_over = false; !is_over;) {
        if (shift_each(from, by)) return true;
        int digit = 0;
        while (digit < count && ++by[static_cast<std::size_t>(digit)] > reach) {
          by[static_cast<std::size_t>(digit++)] = -reach;
        }
        is_over = digit == count;
      }
    }
    return false;
  }
  template <std::size_t count>
  bool shift_each(int from, const std::array<int, count>& by) {
    const auto move = [&](int sign) {
      for (std::size_t i = 0; i < count; ++i) {
        const int which = from + static_cast<int>(i);
        set_cut(which, cut(which) + sign * by[i]);
      }
    };
    move(1);
    if (keep(from, from + static_cast<int>(count))) return true;
    move(-1);
    return false;
  }

  bool change_options() {
    for (int i = 0; i < draft_.count(); ++i) {
      const int before = draft_.at(i).option;
      for (const int option : book_.options_on(draft_.size, book_.gpus(draft_, i))) {
        draft_.at(i).option = option;
        if (option != before && keep(i, i)) return true;
      }
      draft_.at(i).option = before;
    }
    return false;
  }

  DraftBook& book_;
  Draft draft_;
  DraftCost cost_;
  std::vector<int> before_;  // GPUs before each stage
  std::vector<StageSpan> fresh_;
};

}  // namespace

CostedDraft OpBalance::polish(const CostedDraft& draft) {
  CostedDraft best = Polisher{book_, draft}.run();
  for (const Side side : {Side::front, Side::back}) {
    const auto even = tighten(best.draft, best.cost.steady, kFine, side);
    if (!even) continue;
    CostedDraft other = Polisher{book_, {*even, book_.cost(*even)}}.run();
    if (other.cost.is_better_than(best.cost)) best = std::move(other);
  }
  return best;
}

}  // namespace weir::plan
