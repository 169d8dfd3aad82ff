// SPDX-License-Identifier: Apache-2.0
#include "network/plain_rates.h"

#include <algorithm>

namespace weir::network {

std::vector<double> plain_fair_rates(std::span<const double> capacities,
                                     std::span<const std::vector<Hop>> paths) {
  std::vector<double> levels(paths.size(), kNoLimit);
  for (;;) {
    std::vector<double> spare(capacities.begin(), capacities.end());
    std::vector<double> open(capacities.size(), 0);
    for (std::size_t flow = 0; flow < paths.size(); ++flow) {
      for (const Hop& hop : paths[flow]) {
        if (levels[flow] == kNoLimit) {
          open[hop.link] += hop.weight;
        } else {
          spare[hop.link] -= hop.weight * levels[flow];
        }
      }
    }
    double least = kNoLimit;
    std::size_t bottleneck = capacities.size();
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      if (open[link] == 0) continue;
      const double share = std::max(0.0, spare[link]) / open[link];
      if (share < least) {
        least = share;
        bottleneck = link;
      }
    }
    if (bottleneck == capacities.size()) return levels;
    for (std::size_t flow = 0; flow < paths.size(); ++flow) {
      if (levels[flow] != kNoLimit) continue;
      for (const Hop& hop : paths[flow]) {
        if (hop.link == bottleneck) levels[flow] = least;
      }
    }
  }
}

std::vector<double> equal_share_rates(std::span<const double> capacities,
                                      std::span<const std::vector<Hop>> paths) {
  std::vector<double> weight(capacities.size(), 0);
  for (const std::vector<Hop>& path : paths) {
    for (const Hop& hop : path) weight[hop.link] += hop.weight;
  }
  std::vector<double> levels(paths.size(), kNoLimit);
  for (std::size_t flow = 0; flow < paths.size(); ++flow) {
    for (const Hop& hop : paths[flow]) {
      levels[flow] = std::min(levels[flow], capacities[hop.link] / weight[hop.link]);
    }
  }
  return levels;
}

}  // namespace weir::network
