// SPDX-License-Identifier: Apache-2.0
//
// Max-min fair rates in the plainest way, to compare FairRates with: find the link with the
// smallest share, fix its flows, take them off everywhere, repeat. No heap, nothing kept.
#pragma once

#include <span>
#include <vector>

#include "network/flow_graph.h"

namespace weir::network {

// The level of each path. A path without hops gets kNoLimit.
std::vector<double> plain_fair_rates(std::span<const double> capacities,
                                     std::span<const std::vector<Hop>> paths);

// What each flow would get if every link gave each of its flows an equal share and a flow took the
// smallest it is offered. Leaves capacity unused; some simulators use it.
std::vector<double> equal_share_rates(std::span<const double> capacities,
                                      std::span<const std::vector<Hop>> paths);

}  // namespace weir::network
