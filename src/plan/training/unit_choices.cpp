// SPDX-License-Identifier: Apache-2.0
#include "plan/training/unit_choices.h"

#include <algorithm>
#include <array>
#include <limits>

namespace weir::plan {

namespace {

struct Partial {  // of the operators so far
  UnitChoice choice;
  double open_mib = 0;  // activations of the run under way
};

// Keeps what no other beats in cost and saving (and, where the peak is limited, in the open run).
void prune(std::vector<Partial>& partials, bool compares_open) {
  std::ranges::sort(partials, [](const Partial& a, const Partial& b) {
    if (a.choice.cost_us != b.choice.cost_us) return a.choice.cost_us < b.choice.cost_us;
    if (a.choice.saved_mib != b.choice.saved_mib) return a.choice.saved_mib > b.choice.saved_mib;
    if (a.open_mib != b.open_mib) return a.open_mib < b.open_mib;
    return a.choice.mask < b.choice.mask;
  });
  std::vector<Partial> kept;
  for (const Partial& one : partials) {
    const bool is_beaten = std::ranges::any_of(kept, [&](const Partial& other) {
      return other.choice.saved_mib >= one.choice.saved_mib &&
             (!compares_open || other.open_mib <= one.open_mib);
    });
    if (!is_beaten) kept.push_back(one);
  }
  partials = std::move(kept);
}

class PieceSearch {
 public:
  PieceSearch(const predict::IterationCosts& costs, const OpMeasures& measures, UnitPiece piece,
              double peak_cap, bool is_relaxed)
      : costs_{costs},
        measures_{measures},
        piece_{piece},
        peak_cap_{peak_cap},
        is_relaxed_{is_relaxed} {}

  std::vector<UnitChoice> run() {
    const bool is_capped = peak_cap_ < std::numeric_limits<double>::infinity();
    std::array<std::vector<Partial>, 2> states;  // by the last operator's bit
    states[0].push_back({});
    for (int offset = piece_.from; offset < piece_.to; ++offset) {
      std::array<std::vector<Partial>, 2> next;
      for (const std::size_t bit : {std::size_t{0}, std::size_t{1}}) {
        if (bit == 1 && !may_recompute(offset)) continue;
        for (const std::size_t before : {std::size_t{0}, std::size_t{1}}) {
          for (const Partial& one : states[before])
            add(next[bit], one, offset, before == 1, bit == 1);
        }
        prune(next[bit], is_capped);
      }
      states = std::move(next);
    }
    std::vector<Partial> all;
    for (std::size_t bit = 0; bit < 2; ++bit) {
      for (Partial one : states[bit]) {
        if (bit == 1 && !close(one)) continue;
        all.push_back(one);
      }
    }
    prune(all, false);
    std::vector<UnitChoice> choices;
    for (const Partial& one : all) choices.push_back(one.choice);
    return choices;
  }

 private:
  int op(int offset) const { return piece_.first_op + offset; }
  double activation(int offset) const { return measures_.of(costs_, op(offset)).activation_mib; }

  // The derived rule takes such an operator as a successor, so a bound has to allow it.
  bool may_recompute(int offset) const {
    return is_relaxed_ || !costs_.ops().traits_of(op(offset)).never_recomputed;
  }

  // `one` goes on with operator `offset`.
  void add(std::vector<Partial>& into, Partial one, int offset, bool before, bool bit) const {
    if (bit) {
      one.choice.mask |= std::uint64_t{1} << offset;
      one.choice.cost_us += measures_.of(costs_, op(offset)).forward_us;
    }
    if (before && bit) {
      const bool is_stage_end = piece_.end == PieceEnd::stage_ends && offset + 1 == piece_.to;
      if (!join(one, offset - 1, is_stage_end)) return;
    } else {
      one.open_mib = 0;
    }
    into.push_back(one);
  }

  // Operator `offset` and its successor are both computed again. False when too much is alive.
  bool join(Partial& one, int offset, bool successor_ends_stage) const {
    const predict::OpTraits& traits = costs_.ops().traits_of(op(offset));
    one.choice.saved_mib += costs_.saved_mib(op(offset), activation(offset));
    one.open_mib += costs_.kept_mib(op(offset), activation(offset));
    one.choice.peak_mib = std::max(one.choice.peak_mib, one.open_mib);
    const bool ends = traits.activation_factor == 1 &&
                      (costs_.ops().traits_of(op(offset) + 1).starts_block || successor_ends_stage);
    if (ends) one.open_mib = 0;
    return one.choice.peak_mib <= peak_cap_;
  }

  // The last operator of the piece is computed again. False when that is not allowed.
  bool close(Partial& one) const {
    if (piece_.end == PieceEnd::stage_ends) return true;
    const int last = piece_.to - 1;
    if (is_relaxed_) {
      one.choice.saved_mib += costs_.saved_mib(op(last), activation(last));
      return true;
    }
    if (piece_.end == PieceEnd::flows_on) return false;
    // The next block may begin with an operator computed again: then this one is alive as well.
    const double alive = one.open_mib + costs_.kept_mib(op(last), activation(last));
    one.choice.peak_mib = std::max(one.choice.peak_mib, alive);
    return one.choice.peak_mib <= peak_cap_;
  }

  const predict::IterationCosts& costs_;
  const OpMeasures& measures_;
  UnitPiece piece_;
  double peak_cap_;
  bool is_relaxed_;
};

}  // namespace

std::vector<UnitChoice> unit_choices(const predict::IterationCosts& costs,
                                     const OpMeasures& measures, UnitPiece piece, double peak_cap) {
  return PieceSearch{costs, measures, piece, peak_cap, false}.run();
}

std::vector<UnitChoice> unit_relaxation(const predict::IterationCosts& costs,
                                        const OpMeasures& measures, UnitPiece piece) {
  const auto choices =
      PieceSearch{costs, measures, piece, std::numeric_limits<double>::infinity(), true}.run();
  return convex_chain(choices);
}

std::vector<UnitChoice> convex_chain(std::span<const UnitChoice> choices) {
  std::vector<UnitChoice> chain;
  for (const UnitChoice& one : choices) {
    while (chain.size() >= 2) {
      const UnitChoice& a = chain[chain.size() - 2];
      const UnitChoice& b = chain.back();
      const double cross = (b.saved_mib - a.saved_mib) * (one.cost_us - a.cost_us) -
                           (b.cost_us - a.cost_us) * (one.saved_mib - a.saved_mib);
      if (cross > 0) break;
      chain.pop_back();
    }
    chain.push_back(one);
  }
  return chain;
}

}  // namespace weir::plan
