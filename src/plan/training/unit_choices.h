// SPDX-License-Identifier: Apache-2.0
//
// Every sensible way to compute parts of one unit (a layer, or the piece of it that a stage holds)
// again: what it costs, what it saves, what lives at once meanwhile. From these a stage picks for each of
// its units; equal units have equal choices, so a stage of a thousand layers needs them once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/training/op_measures.h"
#include "predict/training/iteration_costs.h"

namespace weir::plan {

struct UnitChoice {
  std::uint64_t mask = 0;
  double cost_us = 0;
  double saved_mib = 0;
  double peak_mib = 0;
};

// How the operator after the piece bears on it.
enum class PieceEnd : unsigned char {
  stage_ends,    // the last operator saves nothing
  block_starts,  // neither: the next block's input is kept
  flows_on,      // a run of recomputed operators would go on into the next unit
};

struct UnitPiece {
  int first_op = 0;  // of the unit in the model
  int from = 0;
  int to = 0;
  PieceEnd end = PieceEnd::stage_ends;
};

// Pareto-optimal in cost and saving among those with at most `peak_cap` alive, cheapest first; the first
// computes nothing again. A piece that flows on ends without recomputation, so that pieces stay independent.
std::vector<UnitChoice> unit_choices(const predict::IterationCosts& costs,
                                     const OpMeasures& measures, UnitPiece piece, double peak_cap);

// Every choice that no other beats in cost, saving and peak: for short pieces only, there can be many.
std::vector<UnitChoice> all_choices(const predict::IterationCosts& costs,
                                    const OpMeasures& measures, UnitPiece piece);

// An upper bound on what can be saved at a cost, as a convex chain from (0, 0): for lower bounds. Counts the saving of
// a last operator that flows on as if its successor were free.
std::vector<UnitChoice> unit_relaxation(const predict::IterationCosts& costs,
                                        const OpMeasures& measures, UnitPiece piece);

// The choices on the lower convex hull of cost over saving, from the first.
std::vector<UnitChoice> convex_chain(std::span<const UnitChoice> choices);

}  // namespace weir::plan
