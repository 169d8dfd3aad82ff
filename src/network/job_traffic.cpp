// SPDX-License-Identifier: Apache-2.0
#include "network/job_traffic.h"

#include <algorithm>
#include <utility>

namespace weir::network {
namespace {

class TrafficBuilder {
 public:
  TrafficBuilder(std::span<const int> hosts, const FabricSize& fabric, const SpineChoice& spine_of)
      : hosts_{hosts},
        fabric_{fabric},
        spine_of_{spine_of},
        flows_(static_cast<std::size_t>(fabric.links())),
        most_(static_cast<std::size_t>(fabric.links())) {}

  int ranks() const { return static_cast<int>(hosts_.size()); }

  // Every rank sends to `to(rank)`, for so long at line rate.
  template <class To>
  void add(double seconds, To to) {
    if (seconds <= 0) return;
    std::vector<int> used;
    std::vector<CrossingFlow> crossing;
    float most = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      const int from_host = hosts_[static_cast<std::size_t>(rank)];
      const int to_host = hosts_[static_cast<std::size_t>(to(rank))];
      const int from = from_host / fabric_.hosts_per_leaf;
      const int into = to_host / fabric_.hosts_per_leaf;
      if (from == into) continue;
      const int spine = spine_of_(from_host, to_host);
      if (spine < 0) {
        result_.is_connected = false;
        continue;
      }
      crossing.push_back({fabric_.uplink(from, spine), fabric_.downlink(into, spine)});
      for (const int link : {crossing.back().uplink, crossing.back().downlink}) {
        float& flows = flows_[static_cast<std::size_t>(link)];
        if (flows == 0) used.push_back(link);
        most = std::max(most, ++flows);
      }
    }
    if (used.empty()) {
      result_.traffic.quiet_seconds += seconds;
      return;
    }
    TrafficPhase phase{seconds, 1 / static_cast<double>(most), {}, std::move(crossing)};
    std::sort(used.begin(), used.end());
    for (const int link : used) {
      float& flows = flows_[static_cast<std::size_t>(link)];
      phase.loads.push_back({link, flows});
      float& demand = most_[static_cast<std::size_t>(link)];
      demand = std::max(demand, flows / most);
      flows = 0;
    }
    result_.traffic.phases.push_back(std::move(phase));
  }

  RoutedTraffic take() {
    for (int link = 0; link < fabric_.links(); ++link) {
      const float demand = most_[static_cast<std::size_t>(link)];
      if (demand > 0) result_.traffic.demands.push_back({link, demand});
    }
    return std::move(result_);
  }

  void be_quiet(double seconds) { result_.traffic.quiet_seconds += seconds; }

 private:
  std::span<const int> hosts_;
  const FabricSize& fabric_;
  const SpineChoice& spine_of_;
  std::vector<float> flows_;  // of the phase being built, by link
  std::vector<float> most_;
  RoutedTraffic result_;
};

}  // namespace

double JobTraffic::alone_seconds() const {
  double seconds = quiet_seconds;
  for (const TrafficPhase& phase : phases) seconds += phase.seconds / phase.rate;
  return seconds;
}

RoutedTraffic route_traffic(const JobIteration& job, std::span<const int> hosts,
                            const FabricSize& fabric, const SpineChoice& spine_of) {
  TrafficBuilder builder{hosts, fabric, spine_of};
  const int ranks = builder.ranks();
  const double iteration = job.iteration_seconds;
  builder.be_quiet(iteration * (1 - job.all_reduce - job.all_to_all - job.all_gather));
  const auto next = [&](int rank) { return (rank + 1) % ranks; };
  if (job.halves_and_doubles) {
    double part = 0.5 * ranks / std::max(ranks - 1, 1);
    for (int distance = 1; distance < ranks; distance *= 2, part /= 2)
      builder.add(iteration * job.all_reduce * part, [&](int rank) { return rank ^ distance; });
  } else {
    builder.add(iteration * job.all_reduce, next);
  }
  if (job.all_to_all > 0) {
    const int shifts = std::min(kShiftsSampled, ranks - 1);
    for (int i = 0; i < shifts; ++i) {
      const int shift =
          1 + static_cast<int>((2 * i + 1) * static_cast<std::int64_t>(ranks - 1) / (2 * shifts));
      builder.add(iteration * job.all_to_all / shifts,
                  [&](int rank) { return (rank + shift) % ranks; });
    }
  }
  builder.add(iteration * job.all_gather, next);
  return builder.take();
}

}  // namespace weir::network
