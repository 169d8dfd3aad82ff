// SPDX-License-Identifier: Apache-2.0
//
// What a stage computes again, chosen by cost: for each unit one of its choices (unit_choices.h), so
// that enough is saved for the least time. Savings add up, so the chains of the units are followed in order of
// microseconds per MiB; the last step takes the cheapest single choice that is enough. What lives at once during the
// backward pass is limited first, and several limits are tried. Short stages, where all that is too coarse, are solved exactly.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "plan/training/op_measures.h"
#include "plan/training/unit_choices.h"

namespace weir::plan {

// Remembers the choices of units, so one object serves all stages of one number of GPUs and microbatch.
class OwnRecompute {
 public:
  // The limits on what lives at once are taken from `measures`, which cover the whole model.
  OwnRecompute(const predict::IterationCosts& costs, const OpMeasures& measures);

  // For the next questions.
  void use(const OpMeasures& measures) { measures_ = measures; }

  // Microseconds of recomputation for stage [first, end) that lacks `missing_mib` (above 0); kImpossible
  // when nothing is enough.
  double recompute_us(int first, int end, int stages_behind, double missing_mib);
  // Not above what any set of recomputed operators needs.
  double bound_us(int first, int end, int stages_behind, double missing_mib);
  // The operators behind recompute_us(): sets `recompute` of each.
  void choose(int first, int end, int stages_behind, double missing_mib, std::span<PlanOp> ops);

 private:
  struct Choices {
    std::vector<UnitChoice> all;
    std::vector<UnitChoice> chain;
  };
  struct Piece {
    int first_unit = 0;
    int count = 0;
    int key = 0;  // which choices
  };
  struct Selection {
    double cost_us = 0;
    std::size_t cap = 0;
    std::vector<int> level;  // by piece: the place in its chain
    int split_piece = -1;    // of this piece the first `split_copies` are one level higher
    int split_copies = 0;
    int special_piece = -1;  // one further copy of this piece has `special`
    UnitChoice special;
  };
  struct PieceKey {
    int kind, from, to;
    PieceEnd end;
    std::uint64_t variants;
    auto operator<=>(const PieceKey&) const = default;
  };

  void find_pieces(int first, int end);
  int key_of(int unit, int from, int to, PieceEnd end);
  PieceEnd end_after(int unit, int to, int stage_end) const;
  const Choices& choices(int key, std::size_t cap);
  const std::vector<UnitChoice>& relaxed(int key);
  const std::vector<double>& caps();
  bool select(std::size_t cap, double needed_mib, Selection& selection);
  bool select_best(int stages_behind, double missing_mib, Selection& best);
  // A short stage as one piece: the best choice exactly, or null.
  const UnitChoice* choose_exactly(int first, int end, int stages_behind, double missing_mib);

  const predict::IterationCosts& costs_;
  OpMeasures whole_model_;
  OpMeasures measures_;
  std::map<PieceKey, int> keys_;
  std::vector<PieceKey> key_list_;
  std::vector<int> unit_of_key_;                                // one that has it now
  std::vector<std::vector<std::unique_ptr<Choices>>> choices_;  // by key, by cap
  std::vector<std::unique_ptr<std::vector<UnitChoice>>> relaxed_;
  std::vector<double> caps_;
  struct ShortKey {
    int first, end;
    std::uint64_t variants;
    auto operator<=>(const ShortKey&) const = default;
  };
  std::map<ShortKey, std::vector<UnitChoice>> short_stages_;
  std::vector<Piece> pieces_;  // of the stage being looked at
  struct Edge {
    double us_per_mib;
    int piece;
    int level;
  };
  std::vector<Edge> edges_;
};

}  // namespace weir::plan
