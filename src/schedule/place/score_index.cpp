// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/score_index.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <map>

namespace weir::schedule {
namespace {

constexpr std::uint8_t kDoesNotFit = 0;

std::uint8_t max_of(const std::uint8_t* bytes, std::size_t count) {
  std::uint8_t max = 0;
  for (std::size_t i = 0; i < count; ++i) max = std::max(max, bytes[i]);
  return max;
}

std::size_t position_of_equal(std::span<const std::uint8_t> entries, std::uint8_t entry,
                              std::uint64_t skip) {
  for (std::size_t i = 0;; ++i) {
    if (entries[i] == entry && skip-- == 0) return i;
  }
}

}  // namespace

ScoreIndex::ScoreIndex(const NodeTable& nodes)
    : node_count_{nodes.size()},
      class_of_(nodes.size()),
      last_change_(nodes.size(), 0),
      recent_changes_(std::bit_ceil(nodes.size() + 1)) {
  std::map<NodeState, std::uint32_t, StateOrder> classes;
  for (std::size_t i = 0; i < node_count_; ++i) {
    const auto [at, is_new] =
        classes.emplace(nodes[i], static_cast<std::uint32_t>(initial_classes_.size()));
    if (is_new) initial_classes_.push_back(nodes[i]);
    class_of_[i] = at->second;
  }
}

void ScoreIndex::touch(NodeIndex node) {
  ++changes_;
  last_change_[node.value] = changes_;
  recent_changes_[changes_ & (recent_changes_.size() - 1)] = node.value;
}

void ScoreIndex::forget_scores() {
  tables_.clear();
  mark_tables_.clear();
}

std::uint8_t ScoreIndex::entry_for(const NodeState& node, const Shape& shape,
                                   const NodeScorer& scorer) {
  if (!fits(node, shape)) return kDoesNotFit;
  ++scored_;
  return static_cast<std::uint8_t>(scorer.score(node, shape) + 1);
}

void ScoreIndex::set(Table& table, std::size_t node, std::uint8_t entry) {
  const std::uint8_t old = table.entries[node];
  if (old == entry) return;
  table.entries[node] = entry;
  std::uint8_t& max = table.block_max[node / kBlock];
  if (entry >= max) {
    max = entry;
  } else if (old == max) {
    max = max_of(&table.entries[node / kBlock * kBlock], kBlock);
  }
}

void ScoreIndex::build(Table& table, const NodeView& nodes, const Shape& shape,
                       const NodeScorer& scorer) {
  std::vector<std::uint8_t> class_entries;
  for (const NodeState& state : initial_classes_)
    class_entries.push_back(entry_for(state, shape, scorer));
  const std::size_t blocks = (node_count_ + kBlock - 1) / kBlock;
  table.entries.assign(blocks * kBlock, kDoesNotFit);
  table.block_max.resize(blocks);
  for (std::size_t i = 0; i < node_count_; ++i) {
    const NodeIndex node{static_cast<std::uint32_t>(i)};
    table.entries[i] =
        last_change_[i] == 0 ? class_entries[class_of_[i]] : entry_for(nodes[node], shape, scorer);
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    table.block_max[block] = max_of(&table.entries[block * kBlock], kBlock);
  }
  table.seen = changes_;
}

void ScoreIndex::catch_up(Table& table, const NodeView& nodes, const Shape& shape,
                          const NodeScorer& scorer) {
  const auto rescore = [&](std::uint32_t node) {
    set(table, node, entry_for(nodes[NodeIndex{node}], shape, scorer));
  };
  if (changes_ - table.seen >= recent_changes_.size()) {
    for (std::uint32_t node = 0; node < node_count_; ++node) {
      if (last_change_[node] > table.seen) rescore(node);
    }
  } else {
    const std::uint64_t mask = recent_changes_.size() - 1;
    for (std::uint64_t change = table.seen + 1; change <= changes_; ++change) {
      const std::uint32_t node = recent_changes_[change & mask];
      if (last_change_[node] == change) rescore(node);  // otherwise a later entry has it
    }
  }
  table.seen = changes_;
}

std::optional<ScoredNode> ScoreIndex::best(const NodeView& nodes, ShapeIndex number,
                                           const Shape& shape, const NodeScorer& scorer,
                                           TieBreak tie_break, std::uint64_t draw) {
  if (const RelativeScorer* relative = scorer.relative())
    return best_relative(nodes, number, shape, *relative);
  if (number.value >= tables_.size()) tables_.resize(number.value + 1);
  Table& table = tables_[number.value];
  if (table.block_max.empty()) {
    build(table, nodes, shape, scorer);
  } else {
    catch_up(table, nodes, shape, scorer);
  }
  const std::uint8_t best = max_of(table.block_max.data(), table.block_max.size());
  if (best == kDoesNotFit) return std::nullopt;
  const auto score = static_cast<Score>(best - 1);

  std::size_t position = 0;
  if (tie_break == TieBreak::uniform) {
    const auto ties =
        static_cast<std::uint64_t>(std::count(table.entries.begin(), table.entries.end(), best));
    assert(ties > 0 && "the best entry stands somewhere");
    position = position_of_equal(table.entries, best, draw % ties);
  } else {
    const auto* block = static_cast<const std::uint8_t*>(
        std::memchr(table.block_max.data(), best, table.block_max.size()));
    const std::size_t first = static_cast<std::size_t>(block - table.block_max.data()) * kBlock;
    position = first + position_of_equal(std::span{table.entries}.subspan(first, kBlock), best, 0);
  }
  return ScoredNode{NodeIndex{static_cast<std::uint32_t>(position)}, score};
}

std::optional<ScoredNode> ScoreIndex::best_relative(const NodeView& nodes, ShapeIndex number,
                                                    const Shape& shape,
                                                    const RelativeScorer& scorer) {
  if (number.value >= mark_tables_.size()) mark_tables_.resize(number.value + 1);
  MarkTable& table = mark_tables_[number.value];
  const std::size_t width = scorer.parts().size();
  const bool is_new = table.nodes.fits.empty();
  if (is_new) {
    table.nodes.fits.resize(node_count_);
    table.nodes.marks.resize(node_count_ * width);
  }
  for (std::uint32_t node = 0; node < node_count_; ++node) {
    if (!is_new && last_change_[node] <= table.seen) continue;
    const NodeState& state = nodes[NodeIndex{node}];
    table.nodes.fits[node] = fits(state, shape) ? 1 : 0;
    if (table.nodes.fits[node] == 0) continue;
    ++scored_;
    scorer.mark(NodeIndex{node}, state, shape,
                std::span{table.nodes.marks}.subspan(node * width, width));
  }
  table.seen = changes_;
  const auto best = best_marked(scorer, table.nodes);
  if (!best) return std::nullopt;
  return ScoredNode{NodeIndex{static_cast<std::uint32_t>(best->node)}, best->score};
}

namespace {

std::optional<ScoredNode> best_relative_by_scan(const NodeView& nodes, const Shape& shape,
                                                const RelativeScorer& scorer) {
  const std::size_t width = scorer.parts().size();
  MarkedNodes marked{std::vector<std::uint8_t>(nodes.size()),
                     std::vector<std::int32_t>(nodes.size() * width)};
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (!fits(nodes[NodeIndex{i}], shape)) continue;
    marked.fits[i] = 1;
    scorer.mark(NodeIndex{i}, nodes[NodeIndex{i}], shape,
                std::span{marked.marks}.subspan(i * width, width));
  }
  const auto best = best_marked(scorer, marked);
  if (!best) return std::nullopt;
  return ScoredNode{NodeIndex{static_cast<std::uint32_t>(best->node)}, best->score};
}

}  // namespace

std::optional<ScoredNode> best_by_scan(const NodeView& nodes, const Shape& shape,
                                       const NodeScorer& scorer, TieBreak tie_break,
                                       std::uint64_t draw) {
  if (const RelativeScorer* relative = scorer.relative())
    return best_relative_by_scan(nodes, shape, *relative);
  std::vector<ScoredNode> best;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const NodeIndex node{i};
    if (!fits(nodes[node], shape)) continue;
    const ScoredNode candidate{node, scorer.score(nodes[node], shape)};
    if (!best.empty() && candidate.score < best.front().score) continue;
    if (!best.empty() && candidate.score > best.front().score) best.clear();
    best.push_back(candidate);
  }
  if (best.empty()) return std::nullopt;
  return tie_break == TieBreak::uniform ? best[draw % best.size()] : best.front();
}

}  // namespace weir::schedule
