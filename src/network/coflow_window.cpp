// SPDX-License-Identifier: Apache-2.0
#include "network/coflow_window.h"

#include <algorithm>
#include <limits>

#include "domain/seeded_rng.h"

namespace weir::network {
namespace {

constexpr double kInstant = 1e-9;  // s: what ends within it ends together
constexpr double kSlowest = 1e-6;  // of the line: rounding leaves nobody without any
constexpr double kAskedTooMuch = 1 + 1e-6;
constexpr int kComputing = -1;

}  // namespace

CoflowWindows::CoflowWindows(int links) : links_(static_cast<std::size_t>(links)) {}

std::vector<double> CoflowWindows::play(std::span<const JobTraffic* const> jobs, int iterations,
                                        std::uint64_t seed, std::span<const double> starts) {
  begin(jobs, seed, starts);
  int behind = static_cast<int>(players_.size());
  while (behind > 0) {
    if (has_changed_) share_links();
    double step = std::numeric_limits<double>::infinity();
    for (const Player& player : players_) step = std::min(step, player.left / player.rate);
    now_ += step;
    for (std::size_t i = 0; i < players_.size(); ++i) {
      Player& player = players_[i];
      player.left -= step * player.rate;
      while (player.left <= kInstant * player.rate) {
        if (!advance(i)) continue;
        if (player.iterations == iterations) --behind;
      }
    }
  }
  std::vector<double> seconds;
  for (const Player& player : players_)
    seconds.push_back((player.last_end - player.first_end) / player.iterations);
  forget(jobs);
  return seconds;
}

// The others cannot be full even if every job asks for its most at once.
bool CoflowWindows::may_bind(const Link& link) const {
  return link.most > kAskedTooMuch && link.jobs > 1;
}

void CoflowWindows::begin(std::span<const JobTraffic* const> jobs, std::uint64_t seed,
                          std::span<const double> starts) {
  SeededRng rng{seed};
  now_ = 0;
  has_changed_ = false;
  players_.resize(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<HotLoad> loads = std::move(players_[i].loads);
    players_[i] = Player{.traffic = jobs[i], .phase = kComputing};
    players_[i].loads = std::move(loads);
    players_[i].left = starts.empty() ? jobs[i]->quiet_seconds * rng.uniform()
                                      : jobs[i]->quiet_seconds + starts[i];
    for (const LinkLoad& demand : jobs[i]->demands) {
      link_at(demand.link).most += static_cast<double>(demand.flows);
      ++link_at(demand.link).jobs;
    }
  }
}

void CoflowWindows::forget(std::span<const JobTraffic* const> jobs) {
  for (std::size_t i = 0; i < players_.size(); ++i) leave_phase(i);
  for (const JobTraffic* job : jobs) {
    for (const LinkLoad& demand : job->demands) {
      Link& link = link_at(demand.link);
      link.most = 0;
      link.jobs = 0;
      link.asked = 0;
    }
  }
}

// True when an iteration ended.
bool CoflowWindows::advance(std::size_t index) {
  leave_phase(index);
  Player& player = players_[index];
  ++player.phase;
  if (player.phase < static_cast<int>(player.traffic->phases.size())) {
    const auto& phase = player.traffic->phases[static_cast<std::size_t>(player.phase)];
    player.left = phase.seconds;
    player.rate = player.own_rate = phase.rate;
    enter_phase(index);
    return false;
  }
  player.phase = kComputing;
  player.left = player.traffic->quiet_seconds;
  player.rate = player.own_rate = 1;
  if (++player.iterations == 0) player.first_end = now_;
  player.last_end = now_;
  return true;
}

void CoflowWindows::enter_phase(std::size_t index) {
  const Player& player = players_[index];
  for (const LinkLoad& load :
       player.traffic->phases[static_cast<std::size_t>(player.phase)].loads) {
    Link& link = link_at(load.link);
    if (!may_bind(link)) continue;
    const auto flows = static_cast<double>(load.flows);
    link.members.push_back({static_cast<int>(index), flows});
    link.asked += flows * player.own_rate;
    if (link.asked > kAskedTooMuch && link.hot < 0) make_hot(load.link);
    if (link.hot >= 0) has_changed_ = true;
  }
}

void CoflowWindows::leave_phase(std::size_t index) {
  const Player& player = players_[index];
  if (player.phase == kComputing) return;
  for (const LinkLoad& load :
       player.traffic->phases[static_cast<std::size_t>(player.phase)].loads) {
    Link& link = link_at(load.link);
    if (!may_bind(link)) continue;
    const auto member =
        std::find_if(link.members.begin(), link.members.end(),
                     [index](const Member& one) { return one.player == static_cast<int>(index); });
    link.asked -= member->flows * player.own_rate;
    *member = link.members.back();
    link.members.pop_back();
    if (link.members.empty()) link.asked = 0;  // without what rounding left
    if (link.hot < 0) continue;
    has_changed_ = true;
    if (link.asked <= kAskedTooMuch) make_cool(load.link);
  }
}

void CoflowWindows::make_hot(int link) {
  link_at(link).hot = static_cast<int>(hot_.size());
  hot_.push_back({link, 0, 0});
}

void CoflowWindows::make_cool(int link) {
  const int place = link_at(link).hot;
  hot_[static_cast<std::size_t>(place)] = hot_.back();
  link_at(hot_.back().link).hot = place;
  hot_.pop_back();
  link_at(link).hot = -1;
}

// Fills links until every job that communicates has met its own rate or a full link.
void CoflowWindows::share_links() {
  has_changed_ = false;
  for (Player& player : players_) {
    player.rate = player.own_rate;
    player.loads.clear();
  }
  for (std::size_t h = 0; h < hot_.size(); ++h) {
    hot_[h].room = 1;
    hot_[h].weight = 0;
    for (const Member& member : link_at(hot_[h].link).members) {
      hot_[h].weight += member.flows;
      players_[static_cast<std::size_t>(member.player)].loads.push_back(
          {static_cast<int>(h), member.flows});
    }
  }
  rising_.clear();
  for (Player& player : players_) {
    if (!player.loads.empty()) rising_.push_back(&player);
  }
  // What a link has left per flow only grows while others stop rising, so an old figure is a lower
  // bound: whoever has the lowest is looked at again, and stops if it is the lowest still.
  for (Player* player : rising_) player->level = level_of(*player);
  while (!rising_.empty()) {
    const auto lowest =
        std::min_element(rising_.begin(), rising_.end(),
                         [](const Player* a, const Player* b) { return a->level < b->level; });
    Player& player = **lowest;
    const double level = level_of(player);
    const bool has_risen = level > player.level;
    player.level = level;
    if (has_risen && std::any_of(rising_.begin(), rising_.end(),
                                 [&](const Player* other) { return other->level < level; }))
      continue;
    stop_rising(player);
    rising_.erase(lowest);
  }
}

void CoflowWindows::stop_rising(Player& player) {
  player.rate = std::max(player.level, kSlowest);
  for (const HotLoad& load : player.loads) {
    HotLink& link = hot_[static_cast<std::size_t>(load.hot)];
    link.room -= load.flows * player.rate;
    link.weight -= load.flows;
  }
}

// How far this job could rise if all that rise did so together.
double CoflowWindows::level_of(const Player& player) const {
  double level = player.own_rate;
  for (const HotLoad& load : player.loads) {
    const HotLink& link = hot_[static_cast<std::size_t>(load.hot)];
    // A product in place of a quotient: most links are not the lowest.
    if (link.room < level * link.weight) level = std::max(link.room, 0.0) / link.weight;
  }
  return level;
}

std::vector<double> play_window(std::span<const JobTraffic* const> jobs, int iterations,
                                std::uint64_t seed, std::span<const double> starts) {
  int links = 0;
  for (const JobTraffic* job : jobs) {
    for (const LinkLoad& demand : job->demands) links = std::max(links, demand.link + 1);
  }
  return CoflowWindows{links}.play(jobs, iterations, seed, starts);
}

}  // namespace weir::network
