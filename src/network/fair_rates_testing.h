// SPDX-License-Identifier: Apache-2.0
//
// Random flows for tests: small fabrics with ties (equal capacities, repeated paths) and without.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "domain/seeded_rng.h"
#include "network/flow_graph.h"

namespace weir::network::testing {

inline std::vector<double> random_capacities(SeededRng& rng, std::size_t count) {
  const bool is_even = rng.below(2) == 0;
  std::vector<double> capacities;
  for (std::size_t i = 0; i < count; ++i) {
    capacities.push_back(is_even ? 1.0 : 0.1 + rng.uniform() * 3);
  }
  return capacities;
}

// 1 to 5 different links; weight 1, or any.
inline std::vector<Hop> random_path(SeededRng& rng, std::size_t links, bool has_weights) {
  std::vector<Hop> path;
  const std::size_t hops = 1 + rng.below(5);
  const double weight = has_weights ? 0.25 + rng.uniform() * 2 : 1.0;
  for (std::size_t i = 0; i < hops; ++i) {
    const auto link = static_cast<LinkIndex>(rng.below(links));
    const bool is_known =
        std::any_of(path.begin(), path.end(), [link](const Hop& hop) { return hop.link == link; });
    if (!is_known) path.push_back({link, weight});
  }
  return path;
}

}  // namespace weir::network::testing
