// SPDX-License-Identifier: Apache-2.0
#include "simulate/network_speeds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>

#include "network/coflow_window.h"

namespace weir::simulate {
namespace {

constexpr std::int64_t kFullSpeed = 1'000'000;
constexpr std::uint64_t kWindowSeed = 1;  // shifts say where jobs begin: nothing is drawn

// Jobs that may slow each other down, directly or through others: they meet on links that would be full
// if all asked for their most at once.
class MeetingJobs {
 public:
  MeetingJobs(std::span<const network::JobTraffic* const> traffic, int links)
      : group_(traffic.size()) {
    std::iota(group_.begin(), group_.end(), std::size_t{0});
    std::vector<double> asked(static_cast<std::size_t>(links));
    for (const network::JobTraffic* job : traffic) {
      for (const network::LinkLoad& demand : job->demands)
        asked[static_cast<std::size_t>(demand.link)] += static_cast<double>(demand.flows);
    }
    std::vector<std::size_t> first_on(static_cast<std::size_t>(links), traffic.size());
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      for (const network::LinkLoad& demand : traffic[i]->demands) {
        const auto link = static_cast<std::size_t>(demand.link);
        if (asked[link] <= 1 + 1e-6) continue;
        if (first_on[link] == traffic.size()) {
          first_on[link] = i;
        } else {
          group_[head(i)] = head(first_on[link]);
        }
      }
    }
  }

  // By job; in order.
  std::map<std::size_t, std::vector<std::size_t>> groups() {
    std::map<std::size_t, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < group_.size(); ++i) groups[head(i)].push_back(i);
    return groups;
  }

 private:
  std::size_t head(std::size_t i) {
    while (group_[i] != i) i = group_[i] = group_[group_[i]];
    return i;
  }

  std::vector<std::size_t> group_;
};

}  // namespace

std::vector<NetworkSpeed> NetworkSpeeds::follow(const schedule::TrainingState& state) {
  std::map<JobId, std::int64_t> speeds;
  playing_.clear();
  for (const schedule::PoolState& pool : state.pools) follow_pool(state, pool, speeds);
  played_ = std::move(playing_);
  std::vector<NetworkSpeed> changed;
  for (const auto& [job, speed] : speeds) {
    const auto before = speeds_.find(job);
    if ((before == speeds_.end() ? kFullSpeed : before->second) != speed)
      changed.push_back({job, speed});
  }
  for (const auto& [job, speed] : speeds_) {
    if (speed != kFullSpeed && !speeds.contains(job)) changed.push_back({job, kFullSpeed});
  }
  speeds_ = std::move(speeds);
  return changed;
}

void NetworkSpeeds::follow_pool(const schedule::TrainingState& state,
                                const schedule::PoolState& pool,
                                std::map<JobId, std::int64_t>& speeds) {
  const auto network = state.network_of(pool);
  if (!network) return;
  schedule::LinkOwners owners{network->fabric.leaves, network->fabric.uplinks()};
  for (const JobId id : pool.active) {
    const schedule::TrainingJob& job = state.job(id);
    if (job.links != nullptr && job.links->use == LinkUse::own)
      owners.take(id, network->leaves_of(job.block), job.links->uplinks);
  }
  const PoolIndex index = pool.pool->id;
  const auto known_owners = owners_.find(index);
  const bool has_other_owners = known_owners == owners_.end() || !(known_owners->second == owners);
  Players before = std::exchange(players_[index], {});
  Players& players = players_[index];
  for (const JobId id : pool.active) {
    const schedule::TrainingJob& job = state.job(id);
    if (job.links == nullptr || job.links->use == LinkUse::circuits) continue;
    const auto curve = pool.curves.find(job.spec->curve);
    if (curve == pool.curves.end()) continue;
    const auto rate = curve->second->rate_at(static_cast<std::int32_t>(job.block.size)).value;
    if (rate <= 0) continue;
    if (const auto known = before.find(id); known != before.end()) {
      const Player& player = known->second;
      const bool is_rerouted = has_other_owners && job.links->use == LinkUse::shared;
      if (player.block == job.block && player.links == job.links && player.rate == rate &&
          !is_rerouted) {
        players.insert(before.extract(known));
        continue;
      }
    }
    Player player{job.block, job.links, rate, ++versions_, {}, 1e6 / static_cast<double>(rate)};
    const auto iteration =
        schedule::iteration_of(*state.network, job.spec->curve.model, player.iteration_seconds);
    player.traffic =
        schedule::traffic_of(*network, owners, job.block, *job.links, iteration).traffic;
    players.emplace(id, std::move(player));
  }
  owners_.insert_or_assign(index, std::move(owners));

  std::vector<JobId> ids;
  std::vector<const Player*> all;
  std::vector<const network::JobTraffic*> traffic;
  const auto note = [&](JobId id, const Player& player, double seconds) {
    const double speed = player.iteration_seconds / seconds;
    speeds[id] = std::clamp<std::int64_t>(std::llround(speed * 1e6), 1, kFullSpeed);
  };
  for (const auto& [id, player] : players) {
    if (player.links->use == LinkUse::own) {
      note(id, player, player.traffic.alone_seconds());
      continue;
    }
    ids.push_back(id);
    all.push_back(&player);
    traffic.push_back(&player.traffic);
  }
  for (const auto& [head, members] : MeetingJobs{traffic, network->size().links()}.groups()) {
    std::vector<const Player*> together;
    for (const std::size_t member : members) together.push_back(all[member]);
    const std::vector<double> seconds = play(together);
    for (std::size_t i = 0; i < members.size(); ++i)
      note(ids[members[i]], *together[i], seconds[i]);
  }
}

std::vector<double> NetworkSpeeds::play(const std::vector<const Player*>& together) {
  if (together.size() == 1) return {together.front()->traffic.alone_seconds()};
  std::vector<std::int64_t> versions;
  for (const Player* player : together) versions.push_back(player->version);
  if (const auto known = played_.find(versions); known != played_.end()) {
    playing_.insert(*known);
    return known->second;
  }
  std::vector<const network::JobTraffic*> traffic;
  std::vector<double> starts;
  for (const Player* player : together) {
    traffic.push_back(&player->traffic);
    starts.push_back(std::chrono::duration<double>(player->links->shift).count());
  }
  ++windows_;
  return playing_[versions] = network::play_window(traffic, window_, kWindowSeed, starts);
}

}  // namespace weir::simulate
