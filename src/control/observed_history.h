// SPDX-License-Identifier: Apache-2.0
//
// What a server that observed has seen, as a cluster and a list of tasks to simulate.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control/store.h"
#include "domain/cluster.h"
#include "domain/observed.h"
#include "domain/result.h"
#include "domain/workload.h"

namespace weir::control {

// The nodes that are there, kept beside the log.
inline constexpr std::string_view kObservedNodesSetting = "observed_nodes";
std::string observed_nodes_json(const std::map<std::string, ObservedNode>& nodes);
Result<std::vector<ObservedNode>> read_observed_nodes(std::string_view json);

struct ObservedHistory {
  std::vector<ObservedNode> nodes;
  Workload workload;         // shown tasks, in the order in which they came
  std::int64_t ended = 0;    // of them; the time they ran is known
  std::int64_t running = 0;  // still: counted with the time they have run so far
  std::int64_t waiting =
      0;  // never ran: counted with the median time of ended tasks with as many GPUs
  // What really happened, of tasks that started.
  double wait_mean_s = 0;
  double wait_p99_s = 0;
};

// Views of tasks that were cancelled before they started are left out. `now`: on the wall clock.
Result<ObservedHistory> read_observed_history(StoreReader& reader, std::string_view nodes_json,
                                              Time now);

// The nodes as a cluster; those of `lost` (a name, a rack or a pool) are left out, and `added` more like the largest
// are put in.
Result<Cluster> cluster_of(const std::vector<ObservedNode>& nodes,
                           const std::vector<std::string>& lost, std::int64_t added);

}  // namespace weir::control
