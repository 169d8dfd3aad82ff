// SPDX-License-Identifier: Apache-2.0
//
// Which leaf is wired to which spine through which optical circuit switch. A switch joins pairs of its
// ports and knows no packets: a port has one circuit or none. Each leaf has one port at every switch,
// each spine has some at every switch.
//
// Seen as a graph, leaves and spine sides are points, circuits are lines, and a switch is a colour: no
// two lines of one colour meet. (A spine with t ports per switch counts as t sides.) By König's theorem
// every demand that exceeds no port count can be wired; what is hard is to disturb few circuits. So:
// a switch with a free port at both ends if there is one; otherwise two switches exchange the circuits
// along one chain (a Kempe flip), the chain with the fewest circuits of other jobs.
#pragma once

#include <set>
#include <vector>

#include "domain/ids.h"

namespace weir::network {

struct Circuit {
  int optical_switch = 0;
  int leaf = 0;
  int spine = -1;       // -1: it leads to another leaf
  int other_leaf = -1;  // the higher number of the two stands here
  JobId job;

  friend auto operator<=>(const Circuit&, const Circuit&) = default;
};

// What wiring for one job did to others.
struct Disturbance {
  int circuits = 0;
  std::set<JobId> jobs;
};

class CircuitWiring {
 public:
  CircuitWiring(int leaves, int spines, int switches, int spine_ports_per_switch);

  int free_ports_of_leaf(int leaf) const { return free_[at(leaf)]; }
  int free_ports_of_spine(int spine) const;

  // One circuit more between them. False, and nothing changed, when a port is missing; when others
  // may not be moved and would have to; or when circuits between leaves stand in the way.
  bool connect(JobId job, int leaf, int spine, bool may_move_others, Disturbance& disturbance);
  // Only through a switch at which both have a free port.
  bool connect_leaves(JobId job, int leaf, int other);
  // Exactly this circuit. False, and nothing changed, when the leaf's port or all of the spine's ports
  // at that switch are in use.
  bool occupy(JobId job, int optical_switch, int leaf, int spine);
  // The same between two leaves.
  bool occupy_leaves(JobId job, int optical_switch, int leaf, int other);
  // Takes one circuit of this job between the two away. Requires: there is one.
  void disconnect(JobId job, int leaf, int spine);
  void disconnect_all(JobId job);

  // All circuits, by switch and leaf.
  std::vector<Circuit> circuits() const;

  friend bool operator==(const CircuitWiring&, const CircuitWiring&) = default;

 private:
  struct Port {
    int peer = -1;  // a point, or none
    JobId job;
    friend bool operator==(const Port&, const Port&) = default;
  };
  struct Line {
    int from = 0, to = 0, colour = 0;
  };
  struct Chain;

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  int first_side(int spine) const { return leaves_ + spine * sides_; }
  int spine_of(int point) const { return point < leaves_ ? -1 : (point - leaves_) / sides_; }
  const Port& port(int point, int colour) const {
    return ports_[at(point) * at(switches_) + at(colour)];
  }
  Port& port(int point, int colour) { return ports_[at(point) * at(switches_) + at(colour)]; }
  void join(int a, int b, int colour, JobId job);
  void part(int a, int b, int colour);
  int common_free_switch(int a, int b) const;
  Chain chain_from(int start, int goal, int first, int second, JobId job) const;
  void flip(const Chain& chain);

  int leaves_;
  int sides_;
  int switches_;
  std::vector<Port> ports_;       // by point, then switch
  std::vector<int> free_;         // ports, by point
  std::vector<int> free_leaves_;  // leaves with a free port, by switch
};

}  // namespace weir::network
