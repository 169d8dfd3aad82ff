// SPDX-License-Identifier: Apache-2.0
//
// A leaf-spine fabric whose leaves and spines meet in optical circuit switches. Links are made when a
// job starts, so it needs counts of ports, not particular links:
//   1. under one leaf where it fits: no circuit;
//   2. two leaves joined directly, a circuit for each host of the smaller half: no spine;
//   3. one spine for the whole job: a single switch never blocks, whatever the traffic;
//   4. s spines: a leaf with h hosts has h / s links (rounded up) to each of them. Any traffic without
//      incast can then be split over the spines (edge colouring), and leaf-ordered rings and exchanges
//      of equal index meet no other flow.
// If no spine has enough free ports, links of running jobs move to other spines; that and the flips of
// circuit_wiring.h pause the jobs they touch.
//
// A spine's ports are all alike (the wiring decides which switch they are at), so a free count is all
// there is to know: buddy groups of ports would only round it down.
// Sources: arXiv 2308.05692 (OCS-vClos).
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <tl/expected.hpp>
#include <vector>

#include "domain/time.h"
#include "network/partition/circuit_wiring.h"
#include "network/partition/logical_clos.h"

namespace weir::network {

struct OpticalShape {
  int leaves = 0;
  int hosts_per_leaf = 0;  // and uplinks of a leaf, and optical switches
  int spines = 0;
  int spine_ports_per_switch = 2;
  int hosts_per_node = 1;

  int switches() const { return hosts_per_leaf; }
  int ports_per_spine() const { return spine_ports_per_switch * switches(); }
  int nodes_per_leaf() const { return hosts_per_leaf / hosts_per_node; }
  int hosts() const { return leaves * hosts_per_leaf; }
};

// Everything that is wrong with a shape; fields are named as the options of the command line.
Diagnostics check(const OpticalShape& shape);

// How long a change of circuits takes, whatever their number. Assumed; all of it is configurable.
struct RewiringTimes {
  Duration control = std::chrono::milliseconds{100};
  Duration switching = std::chrono::milliseconds{25};
  Duration retraining = std::chrono::seconds{2};

  Duration pause() const { return control + switching + retraining; }
};

enum class OpticalKind : std::uint8_t { one_leaf, two_leaves, one_spine, several_spines };
std::string_view text_of(OpticalKind kind);

struct OpticalShare {
  int leaf = 0;
  std::vector<int> nodes;
  int links = 0;  // to each spine of the job, or to the other leaf
  friend bool operator==(const OpticalShare&, const OpticalShare&) = default;
};

struct OpticalPartition {
  int hosts = 0;  // as asked; the nodes may have more
  OpticalKind kind = OpticalKind::one_leaf;
  std::vector<OpticalShare> leaves;
  std::vector<int> spines;

  int ports_per_spine() const;  // that it takes at each of its spines
  friend bool operator==(const OpticalPartition&, const OpticalPartition&) = default;
};

// What starting a job changed.
struct OpticalStart {
  OpticalPartition partition;
  int circuits_made = 0;
  int circuits_moved = 0;       // of jobs that run
  std::set<JobId> jobs_paused;  // whose circuits moved
};

// Whoever has circuits that are not of our jobs; they may be moved like others. No job has this id.
inline constexpr JobId kForeignCircuits{0};

class OpticalClos {
 public:
  // Requires: check(shape) is empty.
  explicit OpticalClos(const OpticalShape& shape);

  const OpticalShape& shape() const { return shape_; }
  int free_hosts() const { return free_nodes_ * shape_.hosts_per_node; }
  const CircuitWiring& wiring() const { return wiring_; }
  const std::map<JobId, OpticalPartition>& jobs() const { return jobs_; }

  // All or nothing. Moves circuits of running jobs only where nothing else helps, and never when
  // `may_move_others` is false. Requires: hosts is 1 or more, the job is new.
  tl::expected<OpticalStart, NoPartition> start(JobId job, int hosts, bool may_move_others = true);
  void release(JobId job);
  // A circuit that is in use already. False when one of its ports is.
  bool occupy(int optical_switch, int leaf, int spine) {
    return wiring_.occupy(kForeignCircuits, optical_switch, leaf, spine);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  int hosts_in(int nodes) const { return nodes * shape_.hosts_per_node; }
  std::vector<OpticalShare> choose_leaves(int nodes, int spines) const;
  std::vector<int> choose_spines(const std::vector<OpticalShare>& leaves, int count) const;
  OpticalShare share_of(int leaf, int nodes) const;
  bool try_one_leaf(OpticalStart& start, int nodes) const;
  bool try_two_leaves(OpticalStart& start, JobId job, int nodes);
  bool try_spines(OpticalStart& start, JobId job, int nodes, bool may_move_others);
  bool vacate(const std::vector<OpticalShare>& leaves, int count, OpticalStart& start,
              std::vector<int>& spines);
  bool move_spine(JobId job, int from, int to, OpticalStart& start);
  void take_nodes(const OpticalPartition& partition, bool are_free);

  OpticalShape shape_;
  std::vector<Columns> nodes_;  // ones are free, by leaf
  std::vector<int> free_nodes_of_;
  int free_nodes_ = 0;
  CircuitWiring wiring_;
  std::map<JobId, OpticalPartition> jobs_;
};

}  // namespace weir::network
