// SPDX-License-Identifier: Apache-2.0
#include "network/partition/optical_clos.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <optional>
#include <utility>

#include "domain/whole_numbers.h"

namespace weir::network {

Diagnostics check(const OpticalShape& shape) {
  Diagnostics mistakes = check(ClosShape{.leaves = shape.leaves,
                                         .hosts_per_leaf = shape.hosts_per_leaf,
                                         .spines = shape.spines,
                                         .hosts_per_node = shape.hosts_per_node});
  if (shape.spine_ports_per_switch < 1 || shape.spine_ports_per_switch > 16)
    mistakes.add({{}, 0, "--spine-ports", std::to_string(shape.spine_ports_per_switch), "1..16"});
  return mistakes;
}

std::string_view text_of(OpticalKind kind) {
  switch (kind) {
    case OpticalKind::one_leaf:
      return "one leaf";
    case OpticalKind::two_leaves:
      return "two leaves";
    case OpticalKind::one_spine:
      return "one spine";
    case OpticalKind::several_spines:
      break;
  }
  return "several spines";
}

int OpticalPartition::ports_per_spine() const {
  int ports = 0;
  if (spines.empty()) return ports;
  for (const OpticalShare& share : leaves) ports += share.links;
  return ports;
}

OpticalClos::OpticalClos(const OpticalShape& shape)
    : shape_{shape},
      nodes_(at(shape.leaves)),
      free_nodes_of_(at(shape.leaves), shape.nodes_per_leaf()),
      free_nodes_{shape.leaves * shape.nodes_per_leaf()},
      wiring_{shape.leaves, shape.spines, shape.switches(), shape.spine_ports_per_switch} {
  assert(check(shape).empty());
  for (Columns& nodes : nodes_) {
    for (int node = 0; node < shape.nodes_per_leaf(); ++node) set_column(nodes, node);
  }
}

tl::expected<OpticalStart, NoPartition> OpticalClos::start(JobId job, int hosts,
                                                           bool may_move_others) {
  assert(hosts >= 1 && !jobs_.contains(job));
  if (hosts > shape_.hosts()) return tl::unexpected(NoPartition::larger_than_fabric);
  const int nodes = static_cast<int>(divide_up(hosts, shape_.hosts_per_node));
  if (nodes > free_nodes_) return tl::unexpected(NoPartition::too_few_free);
  OpticalStart start;
  start.partition.hosts = hosts;
  if (!try_one_leaf(start, nodes) && !try_two_leaves(start, job, nodes) &&
      !try_spines(start, job, nodes, may_move_others))
    return tl::unexpected(NoPartition::links_taken);
  take_nodes(start.partition, false);
  jobs_[job] = start.partition;
  return start;
}

void OpticalClos::release(JobId job) {
  const auto found = jobs_.find(job);
  assert(found != jobs_.end());
  take_nodes(found->second, true);
  if (found->second.kind != OpticalKind::one_leaf) wiring_.disconnect_all(job);
  jobs_.erase(found);
}

void OpticalClos::take_nodes(const OpticalPartition& partition, bool are_free) {
  for (const OpticalShare& share : partition.leaves) {
    for (const int node : share.nodes) {
      assert(has_column(nodes_[at(share.leaf)], node) != are_free);
      if (are_free) {
        set_column(nodes_[at(share.leaf)], node);
      } else {
        clear_column(nodes_[at(share.leaf)], node);
      }
    }
    const int change = (are_free ? 1 : -1) * static_cast<int>(share.nodes.size());
    free_nodes_of_[at(share.leaf)] += change;
    free_nodes_ += change;
  }
}

OpticalShare OpticalClos::share_of(int leaf, int nodes) const {
  OpticalShare share{.leaf = leaf};
  for (int node = 0; std::ssize(share.nodes) < nodes; ++node) {
    if (has_column(nodes_[at(leaf)], node)) share.nodes.push_back(node);
  }
  return share;
}

// The fullest leaf that will do.
bool OpticalClos::try_one_leaf(OpticalStart& start, int nodes) const {
  int best = -1;
  for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
    if (free_nodes_of_[at(leaf)] < nodes) continue;
    if (best < 0 || free_nodes_of_[at(leaf)] < free_nodes_of_[at(best)]) best = leaf;
  }
  if (best < 0) return false;
  start.partition.leaves.push_back(share_of(best, nodes));
  return true;
}

// The emptiest leaf as a whole and the fullest that has room for the rest.
bool OpticalClos::try_two_leaves(OpticalStart& start, JobId job, int nodes) {
  const int first = static_cast<int>(
      std::max_element(free_nodes_of_.begin(), free_nodes_of_.end()) - free_nodes_of_.begin());
  const int rest = nodes - free_nodes_of_[at(first)];
  int second = -1;
  for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
    if (leaf == first || free_nodes_of_[at(leaf)] < rest) continue;
    if (second < 0 || free_nodes_of_[at(leaf)] < free_nodes_of_[at(second)]) second = leaf;
  }
  if (second < 0) return false;
  const int links = hosts_in(std::min(rest, nodes - rest));
  CircuitWiring before = wiring_;
  for (int link = 0; link < links; ++link) {
    if (wiring_.connect_leaves(job, first, second)) continue;
    wiring_ = std::move(before);
    return false;
  }
  start.partition.kind = OpticalKind::two_leaves;
  start.partition.leaves = {share_of(first, nodes - rest), share_of(second, rest)};
  for (OpticalShare& share : start.partition.leaves) share.links = links;
  start.circuits_made = links;
  return true;
}

// Leaves for so many nodes when each leaf spreads its links over `spines`: few leaves, and numbers of
// hosts that split evenly as far as there are such. Empty when there are none.
std::vector<OpticalShare> OpticalClos::choose_leaves(int nodes, int spines) const {
  const auto links_for = [&](int count) {
    return static_cast<int>(divide_up(hosts_in(count), spines));
  };
  // Nodes that split evenly, as few as possible.
  const int unit = spines / std::gcd(spines, shape_.hosts_per_node);
  std::vector<int> taken(at(shape_.leaves));
  const auto room = [&](int leaf) {
    int count = free_nodes_of_[at(leaf)];
    while (count > 0 && links_for(count) * spines > wiring_.free_ports_of_leaf(leaf)) --count;
    return count;
  };
  int rest = nodes;
  for (const int step : {unit, 1}) {
    while (rest > 0) {
      int fullest = -1;  // that takes all the rest
      int emptiest = -1;
      for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
        const int more = (room(leaf) - taken[at(leaf)]) / step * step;
        if (more <= 0) continue;
        const auto has_less = [&](int other) {
          return room(leaf) - taken[at(leaf)] < room(other) - taken[at(other)];
        };
        if (more >= rest && (fullest < 0 || has_less(fullest))) fullest = leaf;
        if (emptiest < 0 || !has_less(emptiest)) emptiest = leaf;
      }
      const int leaf = fullest >= 0 ? fullest : emptiest;
      if (leaf < 0) break;
      const int more = std::min(rest, (room(leaf) - taken[at(leaf)]) / step * step);
      taken[at(leaf)] += more;
      rest -= more;
    }
  }
  std::vector<OpticalShare> shares;
  if (rest > 0) return shares;
  for (int leaf = 0; leaf < shape_.leaves; ++leaf) {
    if (taken[at(leaf)] == 0) continue;
    shares.push_back(share_of(leaf, taken[at(leaf)]));
    shares.back().links = links_for(taken[at(leaf)]);
  }
  return shares;
}

// The fullest spines that will do.
std::vector<int> OpticalClos::choose_spines(const std::vector<OpticalShare>& leaves,
                                            int count) const {
  int need = 0;
  for (const OpticalShare& share : leaves) need += share.links;
  std::vector<std::pair<int, int>> fitting;
  for (int spine = 0; spine < shape_.spines; ++spine) {
    const int free = wiring_.free_ports_of_spine(spine);
    if (free >= need) fitting.emplace_back(free, spine);
  }
  std::vector<int> spines;
  if (std::ssize(fitting) < count) return spines;
  std::sort(fitting.begin(), fitting.end());
  for (int i = 0; i < count; ++i) spines.push_back(fitting[at(i)].second);
  std::sort(spines.begin(), spines.end());
  return spines;
}

bool OpticalClos::try_spines(OpticalStart& start, JobId job, int nodes, bool may_move_others) {
  // Leave the others alone; let their circuits change switches; let them change spines.
  enum class Means : std::uint8_t { own_circuits, other_switches, other_spines };
  const int fewest = static_cast<int>(divide_up(hosts_in(nodes), shape_.ports_per_spine()));
  for (const Means means : {Means::own_circuits, Means::other_switches, Means::other_spines}) {
    if (means != Means::own_circuits && !may_move_others) break;
    for (int count = fewest; count <= std::min(shape_.spines, hosts_in(nodes)); count *= 2) {
      const std::vector<OpticalShare> leaves = choose_leaves(nodes, count);
      if (leaves.empty()) continue;
      std::vector<int> spines = choose_spines(leaves, count);
      if (spines.empty() && means != Means::other_spines) continue;
      OpticalClos trial = *this;
      OpticalStart tried{.partition = start.partition};
      if (spines.empty() && !trial.vacate(leaves, count, tried, spines)) continue;
      Disturbance disturbance;
      bool is_wired = true;
      for (const OpticalShare& share : leaves) {
        for (const int spine : spines) {
          for (int link = 0; link < share.links && is_wired; ++link) {
            is_wired = trial.wiring_.connect(job, share.leaf, spine, means != Means::own_circuits,
                                             disturbance);
            ++tried.circuits_made;
          }
        }
      }
      if (!is_wired) continue;
      tried.circuits_moved += disturbance.circuits;
      tried.jobs_paused.merge(disturbance.jobs);
      tried.partition.kind = count == 1 ? OpticalKind::one_spine : OpticalKind::several_spines;
      tried.partition.leaves = leaves;
      tried.partition.spines = std::move(spines);
      start = std::move(tried);
      *this = std::move(trial);
      return true;
    }
  }
  return false;
}

// Makes room at the spines that have most of it already: links of running jobs go elsewhere, few at
// a time.
bool OpticalClos::vacate(const std::vector<OpticalShare>& leaves, int count, OpticalStart& start,
                         std::vector<int>& spines) {
  int need = 0;
  for (const OpticalShare& share : leaves) need += share.links;
  std::vector<std::pair<int, int>> emptiest;
  for (int spine = 0; spine < shape_.spines; ++spine)
    emptiest.emplace_back(-wiring_.free_ports_of_spine(spine), spine);
  std::sort(emptiest.begin(), emptiest.end());
  for (int i = 0; i < count; ++i) spines.push_back(emptiest[at(i)].second);
  std::sort(spines.begin(), spines.end());
  const auto is_chosen = [&](int spine) {
    return std::binary_search(spines.begin(), spines.end(), spine);
  };
  for (const int spine : spines) {
    while (wiring_.free_ports_of_spine(spine) < need) {
      const int missing = need - wiring_.free_ports_of_spine(spine);
      std::optional<std::pair<JobId, int>> best;  // who, to where
      int best_ports = 0;
      for (const auto& [job, partition] : jobs_) {
        if (std::find(partition.spines.begin(), partition.spines.end(), spine) ==
            partition.spines.end())
          continue;
        const int ports = partition.ports_per_spine();
        int to = -1;
        for (int other = 0; other < shape_.spines; ++other) {
          const int free = wiring_.free_ports_of_spine(other);
          if (is_chosen(other) || free < ports ||
              std::find(partition.spines.begin(), partition.spines.end(), other) !=
                  partition.spines.end())
            continue;
          if (to < 0 || free < wiring_.free_ports_of_spine(to)) to = other;
        }
        if (to < 0) continue;
        // The smallest that is enough, else the largest.
        const bool is_better =
            !best ||
            (best_ports < missing ? ports > best_ports : ports >= missing && ports < best_ports);
        if (!is_better) continue;
        best = {job, to};
        best_ports = ports;
      }
      if (!best || !move_spine(best->first, spine, best->second, start)) return false;
    }
  }
  return true;
}

bool OpticalClos::move_spine(JobId job, int from, int to, OpticalStart& start) {
  OpticalPartition& partition = jobs_.at(job);
  for (const OpticalShare& share : partition.leaves) {
    for (int link = 0; link < share.links; ++link) wiring_.disconnect(job, share.leaf, from);
  }
  Disturbance disturbance;
  for (const OpticalShare& share : partition.leaves) {
    for (int link = 0; link < share.links; ++link) {
      if (!wiring_.connect(job, share.leaf, to, true, disturbance)) return false;
    }
  }
  std::replace(partition.spines.begin(), partition.spines.end(), from, to);
  std::sort(partition.spines.begin(), partition.spines.end());
  start.circuits_moved += partition.ports_per_spine() + disturbance.circuits;
  start.jobs_paused.insert(job);
  start.jobs_paused.merge(disturbance.jobs);
  return true;
}

}  // namespace weir::network
