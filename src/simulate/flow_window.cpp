// SPDX-License-Identifier: Apache-2.0
#include "simulate/flow_window.h"

#include <algorithm>
#include <array>
#include <limits>

#include "domain/seeded_rng.h"
#include "network/flow_run.h"

namespace weir::simulate {
namespace {

using network::CrossingFlow;
using network::JobTraffic;
using network::TrafficPhase;

class FlowWindow {
 public:
  FlowWindow(std::span<const JobTraffic* const> jobs, int links, std::uint64_t seed)
      : run_{std::vector<double>(static_cast<std::size_t>(links), 1.0)} {
    SeededRng rng{seed};
    for (const JobTraffic* traffic : jobs)
      players_.push_back(
          {.traffic = traffic, .computes_until = traffic->quiet_seconds * rng.uniform()});
  }

  std::vector<double> play(int iterations) {
    std::size_t behind = players_.size();
    while (behind > 0) {
      double until = std::numeric_limits<double>::infinity();
      for (const Player& player : players_) {
        if (player.flows == 0) until = std::min(until, player.computes_until);
      }
      for (const network::FlowIndex flow : run_.advance(until)) --players_[owner_[flow]].flows;
      for (std::size_t i = 0; i < players_.size(); ++i) {
        Player& player = players_[i];
        if (player.flows > 0) continue;
        const bool is_computing = player.next == 0;
        if (is_computing && player.computes_until > run_.now() + network::kSameInstant) continue;
        if (!advance(i)) continue;
        if (player.iterations == iterations) --behind;
      }
    }
    std::vector<double> seconds;
    for (const Player& player : players_)
      seconds.push_back((player.last_end - player.first_end) / player.iterations);
    return seconds;
  }

 private:
  struct Player {
    const JobTraffic* traffic = nullptr;
    double computes_until = 0;
    std::size_t next = 0;  // the phase that comes next; 0: it computes
    std::size_t flows = 0;
    int iterations = -1;  // whole ones; the first end is where counting begins
    double first_end = 0;
    double last_end = 0;
  };

  // To the next phase, or to the end of the iteration: then true.
  bool advance(std::size_t index) {
    Player& player = players_[index];
    if (player.next < player.traffic->phases.size()) {
      const TrafficPhase& phase = player.traffic->phases[player.next++];
      player.flows = phase.flows.size();
      for (const CrossingFlow& flow : phase.flows) {
        const std::array<network::Hop, 2> path{
            network::Hop{.link = static_cast<network::LinkIndex>(flow.uplink)},
            network::Hop{.link = static_cast<network::LinkIndex>(flow.downlink)}};
        const network::FlowIndex started = run_.start(path, phase.seconds, 1.0);
        if (owner_.size() <= started) owner_.resize(started + 1);
        owner_[started] = index;
      }
      return false;
    }
    player.next = 0;
    player.computes_until = run_.now() + player.traffic->quiet_seconds;
    if (++player.iterations == 0) player.first_end = run_.now();
    player.last_end = run_.now();
    return true;
  }

  network::FlowRun run_;
  std::vector<Player> players_;
  std::vector<std::size_t> owner_;  // by flow
};

}  // namespace

std::vector<double> play_flow_window(std::span<const JobTraffic* const> jobs, int links,
                                     int iterations, std::uint64_t seed) {
  return FlowWindow{jobs, links, seed}.play(iterations);
}

}  // namespace weir::simulate
