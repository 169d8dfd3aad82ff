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

enum class Compares : unsigned char {
  cost_and_saving,
  open_run_too,  // where the peak is limited
  peak_too,      // where the peak is to be chosen
};

// Keeps what no other beats.
void prune(std::vector<Partial>& partials, Compares compares) {
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
             (compares == Compares::cost_and_saving || other.open_mib <= one.open_mib) &&
             (compares != Compares::peak_too || other.choice.peak_mib <= one.choice.peak_mib);
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

  // What is compared between operators, and in the end.
  std::vector<UnitChoice> run(Compares compares, Compares compares_in_the_end) {
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
        prune(next[bit], compares);
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
    for (Partial& one : all) one.open_mib = 0;
    prune(all, compares_in_the_end);
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
      end_run(one);
    }
    into.push_back(one);
  }

  // Operator `offset` and its successor are both computed again. False when too much is alive.
  bool join(Partial& one, int offset, bool successor_ends_stage) const {
    const predict::OpTraits& traits = costs_.ops().traits_of(op(offset));
    one.choice.saved_mib += costs_.saved_mib(op(offset), activation(offset));
    one.open_mib += costs_.kept_mib(op(offset), activation(offset));
    const bool is_too_much = std::max(one.choice.peak_mib, one.open_mib) > peak_cap_;
    const bool ends = traits.activation_factor == 1 &&
                      (costs_.ops().traits_of(op(offset) + 1).starts_block || successor_ends_stage);
    if (ends) end_run(one);
    return !is_too_much;
  }

  static void end_run(Partial& one) {
    one.choice.peak_mib = std::max(one.choice.peak_mib, one.open_mib);
    one.open_mib = 0;
  }

  // The last operator of the piece is computed again. False when that is not allowed.
  bool close(Partial& one) const {
    if (piece_.end == PieceEnd::stage_ends) {
      // The artifact does not count a run that is open at the end of a stage.
      if (costs_.options().model != predict::CostModel::published) end_run(one);
      return true;
    }
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
  const bool is_capped = peak_cap < std::numeric_limits<double>::infinity();
  return PieceSearch{costs, measures, piece, peak_cap, false}.run(
      is_capped ? Compares::open_run_too : Compares::cost_and_saving, Compares::cost_and_saving);
}

std::vector<UnitChoice> all_choices(const predict::IterationCosts& costs,
                                    const OpMeasures& measures, UnitPiece piece) {
  return PieceSearch{costs, measures, piece, std::numeric_limits<double>::infinity(), false}.run(
      Compares::peak_too, Compares::peak_too);
}

std::vector<UnitChoice> unit_relaxation(const predict::IterationCosts& costs,
                                        const OpMeasures& measures, UnitPiece piece) {
  const auto choices =
      PieceSearch{costs, measures, piece, std::numeric_limits<double>::infinity(), true}.run(
          Compares::cost_and_saving, Compares::cost_and_saving);
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
