// SPDX-License-Identifier: Apache-2.0
#include "network/partition/logical_clos.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <numeric>
#include <tuple>

#include "domain/whole_numbers.h"

namespace weir::network {
namespace {

int power_of_two_within(int number) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(number)));
}

}  // namespace

// One way to split a job over leaves.
struct LogicalClos::Layout {
  int hosts = 0;
  int leaves = 0;  // m
  int width = 0;   // q: nodes in each, without the extra ones
  int extra = 0;   // nodes, in all leaves together
  int spines = 0;  // a host each
};

Diagnostics check(const ClosShape& shape) {
  Diagnostics mistakes;
  const auto expect = [&](const char* field, int found, bool is_right, std::string expected) {
    if (!is_right) mistakes.add({{}, 0, field, std::to_string(found), std::move(expected)});
  };
  const auto in_range = [](int value) { return value >= 1 && value <= kMostColumns; };
  const std::string range = fmt::format("1..{}", kMostColumns);
  expect("--leaves", shape.leaves, in_range(shape.leaves), range);
  expect("--hosts", shape.hosts_per_leaf, in_range(shape.hosts_per_leaf), range);
  expect("--spines", shape.spines, in_range(shape.spines), range);
  expect("--links", shape.links_per_pair, in_range(shape.links_per_pair), range);
  if (in_range(shape.spines) && in_range(shape.links_per_pair))
    expect("--links", shape.links_per_pair, in_range(shape.uplinks_per_leaf()),
           fmt::format("at most {} uplinks per leaf, {} spines have", kMostColumns, shape.spines));
  expect("--node-hosts", shape.hosts_per_node,
         shape.hosts_per_node >= 1 && shape.hosts_per_leaf % std::max(shape.hosts_per_node, 1) == 0,
         fmt::format("a divisor of the {} hosts of a leaf", shape.hosts_per_leaf));
  return mistakes;
}

std::string_view text_of(NoPartition reason) {
  switch (reason) {
    case NoPartition::larger_than_fabric:
      return "larger than the fabric";
    case NoPartition::too_few_free:
      return "too few hosts are free";
    case NoPartition::hosts_scattered:
      return "free hosts are scattered over too many leaves";
    case NoPartition::links_taken:
      return "no set of leaves has enough free links to the same spines";
    case NoPartition::not_found_in_time:
      break;
  }
  return "no partition found within the search budget";
}

LogicalClos::LogicalClos(const ClosShape& shape)
    : shape_{shape},
      leaves_(at(shape.leaves)),
      free_links_of_spine_(at(shape.spines), shape.leaves * shape.links_per_pair),
      free_nodes_{shape.leaves * shape.nodes_per_leaf()} {
  assert(check(shape).empty());
  for (Leaf& leaf : leaves_) {
    leaf.free_nodes = shape.nodes_per_leaf();
    leaf.free_links = shape.uplinks_per_leaf();
    for (int node = 0; node < leaf.free_nodes; ++node) set_column(leaf.nodes, node);
    for (int link = 0; link < leaf.free_links; ++link) set_column(leaf.links, link);
  }
}

// Which of the parallel links are free does not matter, only how many: column (spine, k) says that
// more than k are. The columns two leaves share then count the links they can use together.
Columns LogicalClos::ranked_links(const Leaf& leaf) const {
  if (shape_.links_per_pair == 1) return leaf.links;
  Columns ranked{};
  for (int spine = 0; spine < shape_.spines; ++spine) {
    const int first = spine * shape_.links_per_pair;
    int rank = first;
    for (int link = first; link < first + shape_.links_per_pair; ++link) {
      if (has_column(leaf.links, link)) set_column(ranked, rank++);
    }
  }
  return ranked;
}

tl::expected<Partition, NoPartition> LogicalClos::find(int hosts) const {
  assert(hosts >= 1);
  if (hosts > shape_.hosts()) return tl::unexpected(NoPartition::larger_than_fabric);
  const int nodes = static_cast<int>(divide_up(hosts, shape_.hosts_per_node));
  if (nodes > free_nodes_) return tl::unexpected(NoPartition::too_few_free);
  if (auto under_one = find_under_one_leaf(hosts, nodes)) return *std::move(under_one);
  const int square = power_of_two_within(nodes);
  NoPartition reason = NoPartition::hosts_scattered;
  std::int64_t budget = search_budget_;
  for (int width = power_of_two_within(std::min(square, shape_.nodes_per_leaf())); width >= 1;
       width /= 2) {
    const Layout layout{hosts, square / width, width, nodes - square,
                        width * shape_.hosts_per_node};
    if (layout.leaves < 2 || layout.spines > shape_.uplinks_per_leaf()) continue;
    if (layout.leaves > shape_.leaves) break;
    if (!hosts_suffice(layout)) continue;
    reason = std::max(reason, NoPartition::links_taken);
    const std::vector<int> leaves = candidates(layout);
    if (std::ssize(leaves) < layout.leaves) continue;
    const bool by_spines = layout.spines < layout.leaves;
    const BicliqueAnswer answer =
        by_spines ? search_spines(layout, leaves, budget) : search_leaves(layout, leaves, budget);
    if (answer.end == BicliqueEnd::gave_up) reason = NoPartition::not_found_in_time;
    if (answer.end != BicliqueEnd::found) continue;
    std::vector<int> chosen;
    if (!by_spines) {
      for (const int row : answer.rows) chosen.push_back(leaves[at(row)]);
      return lay_out(layout, chosen);
    }
    // All leaves that these spines have in common; the first ones, if their spare nodes suffice.
    std::vector<int> rest;
    int spare = 0;
    const auto spare_of = [&](int leaf) { return spare_nodes(layout, leaf); };
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!has_column(answer.common, static_cast<int>(i))) continue;
      if (std::ssize(chosen) < layout.leaves) {
        chosen.push_back(leaves[i]);
        spare += spare_of(leaves[i]);
      } else {
        rest.push_back(leaves[i]);
      }
    }
    // Candidates come with the fewest free nodes first: exchange the first for the last.
    for (std::size_t i = 0; spare < layout.extra; ++i) {
      assert(!rest.empty() && i < chosen.size());
      spare += spare_of(rest.back()) - spare_of(chosen[i]);
      chosen[i] = rest.back();
      rest.pop_back();
    }
    return lay_out(layout, chosen);
  }
  return tl::unexpected(reason);
}

// The fullest leaf that will do.
std::optional<Partition> LogicalClos::find_under_one_leaf(int hosts, int nodes) const {
  int best = -1;
  for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
    const int free = free_nodes_of(leaf);
    if (free >= nodes && (best < 0 || free < free_nodes_of(best))) best = leaf;
  }
  if (best < 0) return std::nullopt;
  return Partition{hosts, {share_of(best, nodes, {})}, {}};
}

// Extra nodes that a leaf of this layout could take.
int LogicalClos::spare_nodes(const Layout& layout, int leaf) const {
  return std::min(layout.width, free_nodes_of(leaf) - layout.width);
}

// Whether it could be done if links did not matter.
bool LogicalClos::hosts_suffice(const Layout& layout) const {
  std::vector<int> spare;
  for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
    if (free_nodes_of(leaf) >= layout.width) spare.push_back(spare_nodes(layout, leaf));
  }
  if (std::ssize(spare) < layout.leaves) return false;
  if (layout.extra == 0) return true;
  const auto best = spare.begin() + layout.leaves;
  std::partial_sort(spare.begin(), best, spare.end(), std::greater<>{});
  return std::accumulate(spare.begin(), best, 0) >= layout.extra;
}

// Leaves that could take part, the fullest first; equal ones stand together.
std::vector<int> LogicalClos::candidates(const Layout& layout) const {
  std::vector<int> result;
  for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
    const Leaf& state = leaves_[at(leaf)];
    if (state.free_nodes >= layout.width && state.free_links >= layout.spines)
      result.push_back(leaf);
  }
  std::sort(result.begin(), result.end(), [&](int a, int b) {
    const Leaf& left = leaves_[at(a)];
    const Leaf& right = leaves_[at(b)];
    return std::tie(left.free_nodes, left.free_links, left.links, a) <
           std::tie(right.free_nodes, right.free_links, right.links, b);
  });
  return result;
}

BicliqueAnswer LogicalClos::search_leaves(const Layout& layout, const std::vector<int>& candidates,
                                          std::int64_t& budget) const {
  BicliqueQuery query{.columns = shape_.uplinks_per_leaf(),
                      .need_rows = layout.leaves,
                      .need_columns = layout.spines,
                      .need_gain = layout.extra};
  query.rows.reserve(candidates.size());
  for (const int leaf : candidates) {
    query.rows.push_back(ranked_links(leaves_[at(leaf)]));
    if (layout.extra > 0) query.row_gains.push_back(spare_nodes(layout, leaf));
  }
  return find_biclique(query, budget);
}

// The same with rows and columns exchanged: a job with more leaves than spines is found sooner so.
BicliqueAnswer LogicalClos::search_spines(const Layout& layout, const std::vector<int>& candidates,
                                          std::int64_t& budget) const {
  BicliqueQuery query{.columns = static_cast<int>(candidates.size()),
                      .need_rows = layout.spines,
                      .need_columns = layout.leaves,
                      .need_gain = layout.extra};
  std::vector<int> order(at(shape_.uplinks_per_leaf()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return free_links_of_spine_[at(a / shape_.links_per_pair)] <
           free_links_of_spine_[at(b / shape_.links_per_pair)];
  });
  std::vector<int> row_of(order.size());
  for (std::size_t row = 0; row < order.size(); ++row)
    row_of[at(order[row])] = static_cast<int>(row);
  query.rows.resize(order.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Leaf& leaf = leaves_[at(candidates[i])];
    if (layout.extra > 0) query.column_gains.push_back(spare_nodes(layout, candidates[i]));
    Columns links = ranked_links(leaf);
    for (std::size_t word = 0; word < links.size(); ++word) {
      for (; links[word] != 0; links[word] &= links[word] - 1) {
        const int link = static_cast<int>(word) * 64 + std::countr_zero(links[word]);
        set_column(query.rows[at(row_of[at(link)])], static_cast<int>(i));
      }
    }
  }
  return find_biclique(query, budget);
}

// Of the spines that these leaves can all reach, those with the fewest free links: whole spines stay
// free for whoever needs many. A spine with parallel links may come several times.
std::vector<int> LogicalClos::choose_spines(const std::vector<int>& leaves, int count) const {
  Columns common = ranked_links(leaves_[at(leaves.front())]);
  for (const int leaf : leaves) {
    const Columns links = ranked_links(leaves_[at(leaf)]);
    for (std::size_t word = 0; word < common.size(); ++word) common[word] &= links[word];
  }
  std::vector<int> spines;
  for (int link = 0; link < shape_.uplinks_per_leaf(); ++link) {
    if (has_column(common, link)) spines.push_back(link / shape_.links_per_pair);
  }
  if (std::ssize(spines) < count) return {};
  std::stable_sort(spines.begin(), spines.end(), [&](int a, int b) {
    return free_links_of_spine_[at(a)] < free_links_of_spine_[at(b)];
  });
  spines.resize(at(count));
  std::sort(spines.begin(), spines.end());
  return spines;
}

LeafShare LogicalClos::share_of(int leaf, int nodes, const std::vector<int>& spines) const {
  const Leaf& state = leaves_[at(leaf)];
  LeafShare share{.leaf = leaf};
  share.nodes.reserve(at(nodes));
  for (int node = 0; std::ssize(share.nodes) < nodes; ++node) {
    if (has_column(state.nodes, node)) share.nodes.push_back(node);
  }
  share.uplinks.reserve(spines.size());
  int link = 0;
  for (const int spine : spines) {  // ascending: equal ones find the next of the parallel links
    link = std::max(link, spine * shape_.links_per_pair);
    while (!has_column(state.links, link)) ++link;
    assert(link / shape_.links_per_pair == spine);
    share.uplinks.push_back(link++);
  }
  return share;
}

// Extra nodes go where they leave the fewest free.
Partition LogicalClos::lay_out(const Layout& layout, const std::vector<int>& leaves) const {
  Partition result{.hosts = layout.hosts, .spines = choose_spines(leaves, layout.spines)};
  std::vector<int> order = leaves;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair{free_nodes_of(a), a} < std::pair{free_nodes_of(b), b};
  });
  int extra = layout.extra;
  for (const int leaf : order) {
    const int here = std::min({extra, layout.width, free_nodes_of(leaf) - layout.width});
    result.leaves.push_back(share_of(leaf, layout.width + here, result.spines));
    result.leaves.back().paired = here;
    extra -= here;
  }
  assert(extra == 0);
  std::sort(result.leaves.begin(), result.leaves.end(),
            [](const LeafShare& a, const LeafShare& b) { return a.leaf < b.leaf; });
  return result;
}

std::optional<Partition> LogicalClos::reroute(const Partition& partition) const {
  if (partition.spines.empty()) return partition;
  Partition result = partition;
  std::vector<int> leaves;
  for (const LeafShare& share : partition.leaves) leaves.push_back(share.leaf);
  result.spines = choose_spines(leaves, static_cast<int>(partition.spines.size()));
  if (result.spines.empty()) return std::nullopt;
  for (LeafShare& share : result.leaves)
    share.uplinks = share_of(share.leaf, 0, result.spines).uplinks;
  return result;
}

void LogicalClos::set_nodes(const Partition& partition, bool are_free) {
  for (const LeafShare& share : partition.leaves) {
    Leaf& leaf = leaves_[at(share.leaf)];
    for (const int node : share.nodes) {
      assert(has_column(leaf.nodes, node) != are_free);
      if (are_free) {
        set_column(leaf.nodes, node);
      } else {
        clear_column(leaf.nodes, node);
      }
    }
    const int change = (are_free ? 1 : -1) * static_cast<int>(share.nodes.size());
    leaf.free_nodes += change;
    free_nodes_ += change;
  }
}

void LogicalClos::set_links(const Partition& partition, bool are_free) {
  const int change = are_free ? 1 : -1;
  for (const LeafShare& share : partition.leaves) {
    Leaf& leaf = leaves_[at(share.leaf)];
    for (const int link : share.uplinks) {
      assert(has_column(leaf.links, link) != are_free);
      if (are_free) {
        set_column(leaf.links, link);
      } else {
        clear_column(leaf.links, link);
      }
      free_links_of_spine_[at(link / shape_.links_per_pair)] += change;
    }
    leaf.free_links += change * static_cast<int>(share.uplinks.size());
  }
}

void LogicalClos::take(const Partition& partition) {
  set_nodes(partition, false);
  set_links(partition, false);
}

void LogicalClos::release(const Partition& partition) {
  set_nodes(partition, true);
  set_links(partition, true);
}

void LogicalClos::take_links(const Partition& partition) {
  set_links(partition, false);
}

void LogicalClos::release_links(const Partition& partition) {
  set_links(partition, true);
}

void LogicalClos::block_link(int leaf, int uplink) {
  Partition link;
  link.leaves.push_back({.leaf = leaf, .uplinks = {uplink}});
  set_links(link, false);
}

int largest_job(const LogicalClos& clos) {
  for (int hosts = power_of_two_within(clos.free_hosts()); hosts >= 1; hosts /= 2) {
    if (clos.find(hosts)) return hosts;
  }
  return 0;
}

double fragmentation(const LogicalClos& clos) {
  const int free = power_of_two_within(clos.free_hosts());
  return free == 0 ? 0.0 : 1.0 - static_cast<double>(largest_job(clos)) / free;
}

}  // namespace weir::network
