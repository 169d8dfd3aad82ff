// SPDX-License-Identifier: Apache-2.0
#include "network/coflow_window.h"

#include <algorithm>
#include <limits>
#include <map>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

constexpr double kInstant = 1e-9;  // s: what ends within it ends together
constexpr double kSlowest = 1e-6;  // of the line: rounding leaves nobody without any
constexpr int kComputing = -1;

class CoflowWindow {
 public:
  CoflowWindow(std::span<const JobTraffic* const> jobs, std::uint64_t seed,
               std::span<const double> starts) {
    keep_links_that_bind(jobs);
    SeededRng rng{seed};
    for (const JobTraffic* traffic : jobs) {
      Player player{.traffic = traffic};
      player.left = starts.empty() ? traffic->quiet_seconds * rng.uniform()
                                   : traffic->quiet_seconds + starts[players_.size()];
      for (const TrafficPhase& phase : traffic->phases) {
        auto& loads = player.loads.emplace_back();
        for (const LinkLoad& load : phase.loads) {
          const auto found = bound_.find(load.link);
          if (found != bound_.end()) loads.push_back({found->second, load.flows});
        }
      }
      players_.push_back(std::move(player));
    }
    room_.resize(bound_.size());
    weight_.resize(bound_.size());
  }

  std::vector<double> play(int iterations) {
    int behind = static_cast<int>(players_.size());
    while (behind > 0) {
      share_links();
      double step = std::numeric_limits<double>::infinity();
      for (const Player& player : players_) step = std::min(step, player.left / player.rate);
      now_ += step;
      for (Player& player : players_) {
        player.left -= step * player.rate;
        while (player.left <= kInstant * player.rate) {
          if (!advance(player)) continue;
          if (player.iterations == iterations) --behind;
        }
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
    std::vector<std::vector<LinkLoad>> loads;  // by phase, of links that bind
    int phase = kComputing;
    double left = 0;  // s at line rate, or of computing
    double rate = 1;
    double level = 0;     // no higher than it will be
    int iterations = -1;  // whole ones; the first end is where counting begins
    double first_end = 0;
    double last_end = 0;
  };

  // The others cannot be full even if every job asks for its most at once.
  void keep_links_that_bind(std::span<const JobTraffic* const> jobs) {
    std::map<int, std::pair<double, int>> asked;
    for (const JobTraffic* traffic : jobs) {
      for (const LinkLoad& demand : traffic->demands) {
        asked[demand.link].first += static_cast<double>(demand.flows);
        ++asked[demand.link].second;
      }
    }
    for (const auto& [link, most] : asked) {
      if (most.first > 1 + 1e-6 && most.second > 1)
        bound_.emplace(link, static_cast<int>(bound_.size()));
    }
  }

  // True when an iteration ended.
  bool advance(Player& player) {
    ++player.phase;
    if (player.phase < static_cast<int>(player.traffic->phases.size())) {
      const auto& phase = player.traffic->phases[static_cast<std::size_t>(player.phase)];
      player.left = phase.seconds;
      player.rate = phase.rate;
      return false;
    }
    player.phase = kComputing;
    player.left = player.traffic->quiet_seconds;
    player.rate = 1;
    if (++player.iterations == 0) player.first_end = now_;
    player.last_end = now_;
    return true;
  }

  // Fills links until every job that communicates has met its own rate or a full link.
  void share_links() {
    rising_.clear();
    for (Player& player : players_) {
      if (player.phase == kComputing) continue;
      player.rate = player.traffic->phases[static_cast<std::size_t>(player.phase)].rate;
      if (!loads_of(player).empty()) rising_.push_back(&player);
    }
    if (rising_.size() < 2) return;
    touched_.clear();
    for (const Player* player : rising_) {
      for (const LinkLoad& load : loads_of(*player)) {
        if (weight_[at(load.link)] == 0) {
          touched_.push_back(load.link);
          room_[at(load.link)] = 1;
        }
        weight_[at(load.link)] += static_cast<double>(load.flows);
      }
    }
    // What a link has left per flow only grows while others stop rising, so an old figure is a lower
    // bound: whoever has the lowest is looked at again, and stops if it is the lowest still.
    for (Player* player : rising_) player->level = level_of(*player);
    while (!rising_.empty()) {
      auto lowest =
          std::min_element(rising_.begin(), rising_.end(),
                           [](const Player* a, const Player* b) { return a->level < b->level; });
      Player& player = **lowest;
      const double level = level_of(player);
      const bool has_risen = level > player.level;
      player.level = level;
      if (has_risen && std::any_of(rising_.begin(), rising_.end(),
                                   [&](const Player* other) { return other->level < level; }))
        continue;
      player.rate = std::max(level, kSlowest);
      for (const LinkLoad& load : loads_of(player)) {
        room_[at(load.link)] -= static_cast<double>(load.flows) * player.rate;
        weight_[at(load.link)] -= static_cast<double>(load.flows);
      }
      rising_.erase(lowest);
    }
    for (const int link : touched_) weight_[at(link)] = 0;
  }

  // How far this job could rise if all that rise did so together.
  double level_of(const Player& player) const {
    double level = player.rate;
    for (const LinkLoad& load : loads_of(player)) {
      // A product in place of a quotient: most links are not the lowest.
      if (room_[at(load.link)] < level * weight_[at(load.link)])
        level = std::max(room_[at(load.link)], 0.0) / weight_[at(load.link)];
    }
    return level;
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  static const std::vector<LinkLoad>& loads_of(const Player& player) {
    return player.loads[at(player.phase)];
  }

  std::map<int, int> bound_;  // links that may be full, renumbered
  std::vector<Player> players_;
  std::vector<Player*> rising_;
  std::vector<int> touched_;
  std::vector<double> room_;
  std::vector<double> weight_;  // flows of those that still rise
  double now_ = 0;
};

}  // namespace

std::vector<double> play_window(std::span<const JobTraffic* const> jobs, int iterations,
                                std::uint64_t seed, std::span<const double> starts) {
  return CoflowWindow{jobs, seed, starts}.play(iterations);
}

}  // namespace weir::network
