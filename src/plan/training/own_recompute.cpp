// SPDX-License-Identifier: Apache-2.0
#include "plan/training/own_recompute.h"

#include <algorithm>
#include <cmath>

#include "plan/training/container_index.h"
#include "plan/training/stage_option.h"

namespace weir::plan {

using predict::ModelUnit;

namespace {

constexpr std::size_t kMostCaps = 8;
constexpr int kShortStage = 16;  // operators

}  // namespace

OwnRecompute::OwnRecompute(const predict::IterationCosts& costs, const OpMeasures& measures)
    : costs_{costs}, whole_model_{measures}, measures_{measures} {}

PieceEnd OwnRecompute::end_after(int unit, int to, int stage_end) const {
  const int next = costs_.ops().units[at(unit)].first + to;
  if (next >= stage_end) return PieceEnd::stage_ends;
  return costs_.ops().traits_of(next).starts_block ? PieceEnd::block_starts : PieceEnd::flows_on;
}

int OwnRecompute::key_of(int unit, int from, int to, PieceEnd end) {
  const ModelUnit& it = costs_.ops().units[at(unit)];
  const PieceKey key{it.kind, from, to, end, measures_.signature(it.first + from, it.first + to)};
  const auto [place, is_new] = keys_.try_emplace(key, static_cast<int>(key_list_.size()));
  if (is_new) {
    key_list_.push_back(key);
    unit_of_key_.push_back(unit);
    choices_.emplace_back();
    relaxed_.emplace_back();
  }
  unit_of_key_[at(place->second)] = unit;
  return place->second;
}

// Units that repeat are one piece; the last of them may end differently.
void OwnRecompute::find_pieces(int first, int end) {
  pieces_.clear();
  const auto& ops = costs_.ops();
  const int last_unit = ops.unit_of[at(end - 1)];
  for (int unit = ops.unit_of[at(first)]; unit <= last_unit; ++unit) {
    const ModelUnit& it = ops.units[at(unit)];
    const int from = std::max(0, first - it.first);
    const int to = std::min(it.size, end - it.first);
    const int key = key_of(unit, from, to, end_after(unit, to, end));
    if (!pieces_.empty() && pieces_.back().key == key) {
      ++pieces_.back().count;
    } else {
      pieces_.push_back({unit, 1, key});
    }
  }
}

const std::vector<double>& OwnRecompute::caps() {
  if (!caps_.empty()) return caps_;
  std::vector<double> peaks;
  const auto& ops = costs_.ops();
  int seen_kind = -1;
  for (std::size_t unit = 0; unit < ops.units.size(); ++unit) {
    const ModelUnit& it = ops.units[unit];
    if (it.kind == seen_kind) continue;
    seen_kind = it.kind;
    const PieceEnd end = end_after(static_cast<int>(unit), it.size, ops.size());
    for (const UnitChoice& one :
         unit_choices(costs_, whole_model_, {it.first, 0, it.size, end}, kImpossible)) {
      peaks.push_back(one.peak_mib);
    }
  }
  std::ranges::sort(peaks);
  peaks.erase(std::unique(peaks.begin(), peaks.end()), peaks.end());
  if (!peaks.empty() && peaks.front() <= 0) peaks.erase(peaks.begin());
  for (std::size_t i = 1; i < kMostCaps && !peaks.empty(); ++i) {
    caps_.push_back(peaks[(peaks.size() - 1) * i / (kMostCaps - 1)]);
  }
  caps_.erase(std::unique(caps_.begin(), caps_.end()), caps_.end());
  if (caps_.empty()) caps_.push_back(0);
  return caps_;
}

const OwnRecompute::Choices& OwnRecompute::choices(int key, std::size_t cap) {
  auto& by_cap = choices_[at(key)];
  if (by_cap.empty()) by_cap.resize(caps().size());
  if (by_cap[cap] == nullptr) {
    const PieceKey& piece = key_list_[at(key)];
    auto made = std::make_unique<Choices>();
    made->all = unit_choices(
        costs_, measures_,
        {costs_.ops().units[at(unit_of_key_[at(key)])].first, piece.from, piece.to, piece.end},
        caps_[cap]);
    made->chain = convex_chain(made->all);
    by_cap[cap] = std::move(made);
  }
  return *by_cap[cap];
}

const std::vector<UnitChoice>& OwnRecompute::relaxed(int key) {
  auto& made = relaxed_[at(key)];
  if (made == nullptr) {
    const PieceKey& piece = key_list_[at(key)];
    made = std::make_unique<std::vector<UnitChoice>>(unit_relaxation(
        costs_, measures_,
        {costs_.ops().units[at(unit_of_key_[at(key)])].first, piece.from, piece.to, piece.end}));
  }
  return *made;
}

// Follows the chains until `needed` is saved.
bool OwnRecompute::select(std::size_t cap, double needed, Selection& selection) {
  edges_.clear();
  double most = 0;
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    const auto& chain = choices(pieces_[piece].key, cap).chain;
    most += chain.back().saved_mib * pieces_[piece].count;
    for (std::size_t level = 0; level + 1 < chain.size(); ++level) {
      edges_.push_back({(chain[level + 1].cost_us - chain[level].cost_us) /
                            (chain[level + 1].saved_mib - chain[level].saved_mib),
                        static_cast<int>(piece), static_cast<int>(level)});
    }
  }
  if (most < needed) return false;
  std::ranges::stable_sort(edges_, {}, &Edge::us_per_mib);
  selection = {};
  selection.level.assign(pieces_.size(), 0);
  for (const Edge& edge : edges_) {
    const Piece& piece = pieces_[at(edge.piece)];
    const auto& chain = choices(piece.key, cap).chain;
    const UnitChoice& from = chain[at(edge.level)];
    const UnitChoice& to = chain[at(edge.level) + 1];
    const double gain = to.saved_mib - from.saved_mib;
    if (gain * piece.count <= needed) {
      needed -= gain * piece.count;
      selection.cost_us += (to.cost_us - from.cost_us) * piece.count;
      selection.level[at(edge.piece)] = edge.level + 1;
      if (needed <= 0) return true;
      continue;
    }
    selection.split_piece = edge.piece;
    selection.split_copies = static_cast<int>(needed / gain);
    needed -= gain * selection.split_copies;
    selection.cost_us += (to.cost_us - from.cost_us) * selection.split_copies;
    break;
  }
  if (needed <= 0) return true;
  // One more copy of any piece has to save the rest.
  double least = kImpossible;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool is_split = static_cast<int>(i) == selection.split_piece;
    if (is_split && selection.split_copies >= pieces_[i].count) continue;
    const Choices& mine = choices(pieces_[i].key, cap);
    const UnitChoice& now = mine.chain[at(selection.level[i])];
    const auto enough =
        std::ranges::lower_bound(mine.all, now.saved_mib + needed, {}, &UnitChoice::saved_mib);
    if (enough == mine.all.end() || enough->cost_us - now.cost_us >= least) continue;
    least = enough->cost_us - now.cost_us;
    selection.special_piece = static_cast<int>(i);
    selection.special = *enough;
  }
  selection.cost_us += least;
  return least < kImpossible;
}

bool OwnRecompute::select_best(int stages_behind, double missing_mib, Selection& best) {
  best.cost_us = kImpossible;
  for (std::size_t cap = 0; cap < caps().size(); ++cap) {
    Selection selection;
    if (!select(cap, (missing_mib + caps_[cap]) / (stages_behind + 1), selection)) continue;
    if (selection.cost_us >= best.cost_us) continue;
    best = std::move(selection);
    best.cap = cap;
  }
  return best.cost_us < kImpossible;
}

const UnitChoice* OwnRecompute::choose_exactly(int first, int end, int stages_behind,
                                               double missing_mib) {
  const auto [place, is_new] =
      short_stages_.try_emplace(ShortKey{first, end, measures_.signature(first, end)});
  if (is_new) {
    place->second = all_choices(costs_, measures_, {first, 0, end - first, PieceEnd::stage_ends});
  }
  for (const UnitChoice& one : place->second) {  // cheapest first
    if (one.saved_mib * (stages_behind + 1) - one.peak_mib >= missing_mib) return &one;
  }
  return nullptr;
}

double OwnRecompute::recompute_us(int first, int end, int stages_behind, double missing_mib) {
  if (end - first <= kShortStage) {
    const UnitChoice* choice = choose_exactly(first, end, stages_behind, missing_mib);
    return choice == nullptr ? kImpossible : choice->cost_us;
  }
  find_pieces(first, end);
  Selection best;
  return select_best(stages_behind, missing_mib, best) ? best.cost_us : kImpossible;
}

double OwnRecompute::bound_us(int first, int end, int stages_behind, double missing_mib) {
  find_pieces(first, end);
  edges_.clear();
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    const auto& chain = relaxed(pieces_[piece].key);
    for (std::size_t level = 0; level + 1 < chain.size(); ++level) {
      edges_.push_back({(chain[level + 1].cost_us - chain[level].cost_us) /
                            (chain[level + 1].saved_mib - chain[level].saved_mib),
                        static_cast<int>(piece), static_cast<int>(level)});
    }
  }
  std::ranges::sort(edges_, {}, &Edge::us_per_mib);
  double needed = missing_mib / (stages_behind + 1);
  double cost = 0;
  for (const Edge& edge : edges_) {
    const Piece& piece = pieces_[at(edge.piece)];
    const auto& chain = relaxed(piece.key);
    const double gain =
        (chain[at(edge.level) + 1].saved_mib - chain[at(edge.level)].saved_mib) * piece.count;
    cost += edge.us_per_mib * std::min(gain, needed);
    needed -= gain;
    if (needed <= 0) return cost;
  }
  return kImpossible;
}

void OwnRecompute::choose(int first, int end, int stages_behind, double missing_mib,
                          std::span<PlanOp> ops) {
  for (PlanOp& op : ops) op.recompute = false;
  if (end - first <= kShortStage) {
    const UnitChoice* choice = choose_exactly(first, end, stages_behind, missing_mib);
    for (std::size_t i = 0; choice != nullptr && i < ops.size(); ++i) {
      ops[i].recompute = ((choice->mask >> i) & 1U) != 0;
    }
    return;
  }
  find_pieces(first, end);
  Selection best;
  if (!select_best(stages_behind, missing_mib, best)) return;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const PieceKey& key = key_list_[at(piece.key)];
    const auto& chain = choices(piece.key, best.cap).chain;
    int unit = piece.first_unit;
    const auto give = [&](int copies, std::uint64_t mask) {
      for (const int after = unit + copies; unit < after; ++unit) {
        const int begin = costs_.ops().units[at(unit)].first - first;
        for (int offset = key.from; offset < key.to; ++offset) {
          ops[at(begin + offset)].recompute = ((mask >> offset) & 1U) != 0;
        }
      }
    };
    if (static_cast<int>(i) == best.split_piece) {
      give(best.split_copies, chain[at(best.level[i]) + 1].mask);
    }
    if (static_cast<int>(i) == best.special_piece) give(1, best.special.mask);
    give(piece.first_unit + piece.count - unit, chain[at(best.level[i])].mask);
  }
}

}  // namespace weir::plan
