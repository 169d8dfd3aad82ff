// SPDX-License-Identifier: Apache-2.0
#include "plan/training/unit_choices.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/training/random_stage_testing.h"

namespace weir::plan {
namespace {

using predict::CostModel;
using predict::IterationCosts;

constexpr double kTolerance = 1e-9;

// In the full model, which counts every run of recomputed operators.
struct PieceCase {
  IterationCosts costs;
  RandomStage stage;
  UnitPiece piece;
};

bool is_allowed(const PieceCase& it, std::uint64_t mask) {
  for (int offset = it.piece.from; offset < it.piece.to; ++offset) {
    const bool bit = ((mask >> offset) & 1U) != 0;
    if (bit && it.costs.ops().traits_of(it.piece.first_op + offset).never_recomputed) return false;
    const bool is_last = offset + 1 == it.piece.to;
    if (bit && is_last && it.piece.end == PieceEnd::flows_on) return false;
  }
  return true;
}

// What IterationCosts says of a stage that consists of the piece, and of the operator after it where there
// is one: computed again, which is the worst for a piece that ends a block.
UnitChoice evaluate(const PieceCase& it, std::uint64_t mask, bool next_recomputed) {
  const int first = it.piece.first_op + it.piece.from;
  const bool has_next = it.piece.end != PieceEnd::stage_ends;
  std::vector<PlanOp> ops(static_cast<std::size_t>(it.piece.to - it.piece.from),
                          ops_of(it.stage).front());
  UnitChoice choice{.mask = mask};
  for (int offset = it.piece.from; offset < it.piece.to; ++offset) {
    if (((mask >> offset) & 1U) == 0) continue;
    ops[static_cast<std::size_t>(offset - it.piece.from)].recompute = true;
    choice.cost_us +=
        it.costs.measure(rows_of(it.costs, it.stage), it.piece.first_op + offset).forward_us;
  }
  if (has_next) {
    ops.push_back(ops.front());
    ops.back().recompute = next_recomputed;
  }
  choice.saved_mib = it.costs.saved_by_recomputing_mib(first, ops, it.stage.microbatch);
  choice.peak_mib = it.costs.peak_recomputed_mib(first, ops, it.stage.microbatch);
  return choice;
}

// A piece of at most 11 operators of any unit.
PieceCase piece_case(std::uint64_t seed) {
  SeededRng rng{seed};
  PieceCase it{.costs = random_model(rng, CostModel::full), .stage = {}, .piece = {}};
  it.stage = random_stage(rng, it.costs);
  const auto& units = it.costs.ops().units;
  const auto& unit = units[rng.below(units.size())];
  it.piece.first_op = unit.first;
  it.piece.from = some_int(rng, 0, unit.size - 1);
  it.piece.to = some_int(rng, it.piece.from + 1, std::min(unit.size, it.piece.from + 11));
  const int next = unit.first + it.piece.to;
  if (next >= it.costs.ops().size() || rng.below(3) == 0) {
    it.piece.end = PieceEnd::stage_ends;
  } else {
    it.piece.end =
        it.costs.ops().traits_of(next).starts_block ? PieceEnd::block_starts : PieceEnd::flows_on;
  }
  return it;
}

template <class Visit>
void for_every_mask(const UnitPiece& piece, Visit visit) {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << (piece.to - piece.from)); ++bits) {
    visit(bits << piece.from);
  }
}

TEST(UnitChoices, AreWhatNoOtherMaskBeatsInCostAndSaving) {
  std::size_t longest = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const PieceCase it = piece_case(seed);
    const OpMeasure* rows = rows_of(it.costs, it.stage);
    const bool ends_block = it.piece.end == PieceEnd::block_starts;
    std::vector<UnitChoice> all;
    for_every_mask(it.piece, [&](std::uint64_t mask) {
      if (is_allowed(it, mask)) all.push_back(evaluate(it, mask, ends_block));
    });
    double largest_peak = 0;
    for (const UnitChoice& one : all) largest_peak = std::max(largest_peak, one.peak_mib);
    for (const double cap : {kImpossible, largest_peak * 0.6, largest_peak * 0.3, 0.0}) {
      const auto choices = unit_choices(it.costs, rows, it.piece, cap);
      ASSERT_FALSE(choices.empty());
      EXPECT_EQ(choices.front().mask, 0U);
      longest = std::max(longest, choices.size());
      for (std::size_t i = 0; i < choices.size(); ++i) {
        ASSERT_TRUE(is_allowed(it, choices[i].mask));
        const UnitChoice expected = evaluate(it, choices[i].mask, ends_block);
        ASSERT_NEAR(choices[i].cost_us, expected.cost_us, kTolerance);
        ASSERT_NEAR(choices[i].saved_mib, expected.saved_mib, kTolerance);
        ASSERT_LE(expected.peak_mib, cap + kTolerance);
        if (i == 0) continue;
        ASSERT_GT(choices[i].cost_us, choices[i - 1].cost_us);
        ASSERT_GT(choices[i].saved_mib, choices[i - 1].saved_mib);
      }
      for (const UnitChoice& one : all) {
        if (one.peak_mib > cap - kTolerance) continue;
        ASSERT_TRUE(std::ranges::any_of(choices,
                                        [&](const UnitChoice& other) {
                                          return other.cost_us <= one.cost_us + kTolerance &&
                                                 other.saved_mib >= one.saved_mib - kTolerance;
                                        }))
            << "mask " << one.mask << " cap " << cap;
      }
    }
  }
  EXPECT_GT(longest, 10U);
}

// Cost on the chain at a saving, by interpolation.
double cost_at(const std::vector<UnitChoice>& chain, double saved_mib) {
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (chain[i].saved_mib < saved_mib) continue;
    const double share =
        (saved_mib - chain[i - 1].saved_mib) / (chain[i].saved_mib - chain[i - 1].saved_mib);
    return chain[i - 1].cost_us + share * (chain[i].cost_us - chain[i - 1].cost_us);
  }
  return saved_mib <= chain.back().saved_mib + kTolerance ? chain.back().cost_us : kImpossible;
}

TEST(UnitRelaxation, NoMaskSavesAsMuchForLessWhateverComesAfter) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const PieceCase it = piece_case(seed);
    const auto chain = unit_relaxation(it.costs, rows_of(it.costs, it.stage), it.piece);
    for_every_mask(it.piece, [&](std::uint64_t mask) {
      for (const bool next : {false, true}) {
        const UnitChoice one = evaluate(it, mask, next);
        ASSERT_LE(cost_at(chain, one.saved_mib), one.cost_us + 1e-6)
            << "seed " << seed << " mask " << mask;
      }
    });
  }
}

TEST(ConvexChain, KeepsTheLowerHull) {
  const std::vector<UnitChoice> choices{
      {.mask = 0, .cost_us = 0, .saved_mib = 0}, {.mask = 1, .cost_us = 1, .saved_mib = 1},
      {.mask = 2, .cost_us = 2, .saved_mib = 4}, {.mask = 3, .cost_us = 3, .saved_mib = 5},
      {.mask = 4, .cost_us = 4, .saved_mib = 6}, {.mask = 5, .cost_us = 9, .saved_mib = 7}};
  std::vector<std::uint64_t> kept;
  for (const UnitChoice& one : convex_chain(choices)) kept.push_back(one.mask);
  // 1 lies above the line from 0 to 2, 3 on the line from 2 to 4.
  EXPECT_EQ(kept, (std::vector<std::uint64_t>{0, 2, 4, 5}));
}

}  // namespace
}  // namespace weir::plan
