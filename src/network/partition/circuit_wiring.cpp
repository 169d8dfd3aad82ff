// SPDX-License-Identifier: Apache-2.0
#include "network/partition/circuit_wiring.h"

#include <cassert>
#include <optional>

namespace weir::network {

// Lines of two colours in turn. Exchanging the colours frees `freed` at both ends of a new line.
struct CircuitWiring::Chain {
  std::vector<Line> lines;
  int first = 0;  // the colour of the first line
  int second = 0;
  int others = 0;  // lines of other jobs
  bool reaches_goal = false;
};

CircuitWiring::CircuitWiring(int leaves, int spines, int switches, int spine_ports_per_switch)
    : leaves_{leaves},
      sides_{spine_ports_per_switch},
      switches_{switches},
      ports_(at(leaves + spines * spine_ports_per_switch) * at(switches)),
      free_(at(leaves + spines * spine_ports_per_switch), switches),
      free_leaves_(at(switches), leaves) {}

int CircuitWiring::free_ports_of_spine(int spine) const {
  int free = 0;
  for (int side = first_side(spine); side < first_side(spine + 1); ++side) free += free_[at(side)];
  return free;
}

void CircuitWiring::join(int a, int b, int colour, JobId job) {
  assert(port(a, colour).peer < 0 && port(b, colour).peer < 0);
  port(a, colour) = {b, job};
  port(b, colour) = {a, job};
  for (const int end : {a, b}) {
    --free_[at(end)];
    if (end < leaves_) --free_leaves_[at(colour)];
  }
}

void CircuitWiring::part(int a, int b, int colour) {
  assert(port(a, colour).peer == b && port(b, colour).peer == a);
  port(a, colour) = {};
  port(b, colour) = {};
  for (const int end : {a, b}) {
    ++free_[at(end)];
    if (end < leaves_) ++free_leaves_[at(colour)];
  }
}

// The switch with the fewest free leaf ports of those that will do: the others are kept for jobs that
// need many in common.
int CircuitWiring::common_free_switch(int a, int b) const {
  int best = -1;
  for (int colour = 0; colour < switches_; ++colour) {
    if (port(a, colour).peer >= 0 || port(b, colour).peer >= 0) continue;
    if (best < 0 || free_leaves_[at(colour)] < free_leaves_[at(best)]) best = colour;
  }
  return best;
}

CircuitWiring::Chain CircuitWiring::chain_from(int start, int goal, int first, int second,
                                               JobId job) const {
  Chain chain{.first = first, .second = second};
  int colour = first;
  for (int point = start; port(point, colour).peer >= 0;
       colour = colour == first ? second : first) {
    const Port& here = port(point, colour);
    chain.lines.push_back({point, here.peer, colour});
    if (here.job != job) ++chain.others;
    point = here.peer;
    if (point == goal) chain.reaches_goal = true;
  }
  return chain;
}

void CircuitWiring::flip(const Chain& chain) {
  std::vector<JobId> owners;
  for (const Line& line : chain.lines) {
    owners.push_back(port(line.from, line.colour).job);
    part(line.from, line.to, line.colour);
  }
  for (std::size_t i = 0; i < chain.lines.size(); ++i) {
    const Line& line = chain.lines[i];
    join(line.from, line.to, line.colour == chain.first ? chain.second : chain.first, owners[i]);
  }
}

bool CircuitWiring::connect(JobId job, int leaf, int spine, bool may_move_others,
                            Disturbance& disturbance) {
  if (free_[at(leaf)] == 0 || free_ports_of_spine(spine) == 0) return false;
  int best_side = -1;
  int best_switch = -1;
  for (int side = first_side(spine); side < first_side(spine + 1); ++side) {
    const int found = common_free_switch(leaf, side);
    if (found < 0) continue;
    if (best_switch < 0 || free_leaves_[at(found)] < free_leaves_[at(best_switch)]) {
      best_side = side;
      best_switch = found;
    }
  }
  if (best_switch >= 0) {
    join(leaf, best_side, best_switch, job);
    return true;
  }
  // No switch is free at both ends. Free one of the leaf's at the spine, or one of the spine's at the
  // leaf, by a flip from there.
  std::optional<Chain> best;
  for (int side = first_side(spine); side < first_side(spine + 1); ++side) {
    if (free_[at(side)] == 0) continue;
    for (int at_leaf = 0; at_leaf < switches_; ++at_leaf) {
      if (port(leaf, at_leaf).peer >= 0) continue;
      for (int at_side = 0; at_side < switches_; ++at_side) {
        if (port(side, at_side).peer >= 0) continue;
        for (const bool from_side : {true, false}) {
          Chain chain = from_side ? chain_from(side, leaf, at_leaf, at_side, job)
                                  : chain_from(leaf, side, at_side, at_leaf, job);
          if (chain.reaches_goal || (best && chain.others >= best->others)) continue;
          best = std::move(chain);
          best_side = side;
        }
      }
    }
  }
  if (!best || (best->others > 0 && !may_move_others)) return false;
  for (const Line& line : best->lines) {
    const JobId owner = port(line.from, line.colour).job;
    if (owner == job) continue;
    ++disturbance.circuits;
    disturbance.jobs.insert(owner);
  }
  flip(*best);
  // The first colour is now free where the chain began, and was free at the other end before.
  join(leaf, best_side, best->first, job);
  return true;
}

bool CircuitWiring::connect_leaves(JobId job, int leaf, int other) {
  const int colour = common_free_switch(leaf, other);
  if (colour < 0) return false;
  join(leaf, other, colour, job);
  return true;
}

bool CircuitWiring::occupy(JobId job, int optical_switch, int leaf, int spine) {
  if (port(leaf, optical_switch).peer >= 0) return false;
  for (int side = first_side(spine); side < first_side(spine + 1); ++side) {
    if (port(side, optical_switch).peer >= 0) continue;
    join(leaf, side, optical_switch, job);
    return true;
  }
  return false;
}

bool CircuitWiring::occupy_leaves(JobId job, int optical_switch, int leaf, int other) {
  if (port(leaf, optical_switch).peer >= 0 || port(other, optical_switch).peer >= 0) return false;
  join(leaf, other, optical_switch, job);
  return true;
}

void CircuitWiring::disconnect(JobId job, int leaf, int spine) {
  for (int colour = 0; colour < switches_; ++colour) {
    const Port here = port(leaf, colour);
    if (here.peer >= 0 && here.job == job && spine_of(here.peer) == spine) {
      part(leaf, here.peer, colour);
      return;
    }
  }
  assert(false && "no such circuit");
}

void CircuitWiring::disconnect_all(JobId job) {
  for (int leaf = 0; leaf < leaves_; ++leaf) {
    for (int colour = 0; colour < switches_; ++colour) {
      const Port here = port(leaf, colour);
      if (here.peer >= 0 && here.job == job) part(leaf, here.peer, colour);
    }
  }
}

std::vector<Circuit> CircuitWiring::circuits() const {
  std::vector<Circuit> result;
  for (int colour = 0; colour < switches_; ++colour) {
    for (int leaf = 0; leaf < leaves_; ++leaf) {
      const Port& here = port(leaf, colour);
      if (here.peer < 0) continue;
      if (here.peer >= leaves_) {
        result.push_back({colour, leaf, spine_of(here.peer), -1, here.job});
      } else if (leaf < here.peer) {
        result.push_back({colour, leaf, -1, here.peer, here.job});
      }
    }
  }
  return result;
}

}  // namespace weir::network
