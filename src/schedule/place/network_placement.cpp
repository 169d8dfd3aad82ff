// SPDX-License-Identifier: Apache-2.0
#include "schedule/place/network_placement.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "network/interleave.h"
#include "schedule/place/block_circuits.h"
#include "schedule/place/isolation_choice.h"

namespace weir::schedule {
namespace {

class NetworkPlacer {
 public:
  NetworkPlacer(const PoolNetwork& network, NetworkPlacement placement, const BlockMap& closed,
                std::span<const NetworkWish> wishes, std::int64_t behind)
      : network_{network},
        placement_{placement},
        wishes_{wishes},
        behind_{behind},
        gpus_{closed},
        owners_{network.fabric.leaves, network.fabric.uplinks()},
        places_(wishes.size()) {
    if (network.fabric.is_optical()) wiring_.emplace(no_circuits(network));
  }

  std::vector<NetworkPlace> place() {
    for (const NetworkWish& wish : wishes_) {
      if (!wish.wanted.is_none()) gpus_.take(wish.wanted);
    }
    for (std::size_t i = 0; i < wishes_.size(); ++i) keep(i);
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      if (!is_kept(i)) place_anew(i);
    }
    if (wiring_) hand_out_circuits();
    return std::move(places_);
  }

 private:
  bool is_kept(std::size_t i) const {
    const NetworkWish& wish = wishes_[i];
    return wish.wanted == wish.present &&
           (wish.links != nullptr || !network_.needs_links(wish.wanted));
  }

  void keep(std::size_t i) {
    if (!is_kept(i)) return;
    const NetworkWish& wish = wishes_[i];
    places_[i] = {wish.wanted, wish.links};
    if (wish.links == nullptr) return;
    if (wish.links->use == LinkUse::own)
      owners_.take(wish.job, network_.leaves_of(wish.wanted), wish.links->uplinks);
    if (wish.links->use == LinkUse::circuits)
      hold_circuits(*wiring_, wish.job, wish.links->circuits);
  }

  void place_anew(std::size_t i) {
    const NetworkWish& wish = wishes_[i];
    places_[i].block = wish.wanted;
    if (!network_.needs_links(wish.wanted)) return;
    switch (placement_) {
      case NetworkPlacement::shared:
        return share(i);
      case NetworkPlacement::isolated:
      case NetworkPlacement::isolated_optical:
        if (!isolate(i)) hold_back(i);
        return;
      case NetworkPlacement::isolated_where_worth:
        return choose(i);
    }
  }

  void choose(std::size_t i) {
    const NetworkWish& wish = wishes_[i];
    if (network_.has_whole_leaves(wish.wanted) && isolate(i)) return;  // it costs nobody anything
    const bool can_share = owners_.are_connected(network_.leaves_of(wish.wanted));
    if (can_share && is_sharing_harmless(shared_slowdown(wish))) return share(i);
    if (isolate(i)) return;
    if (!can_share) return hold_back(i);
    const double share_of_fabric =
        static_cast<double>(wish.wanted.size) / (static_cast<double>(network_.fabric.leaves) *
                                                 static_cast<double>(network_.hosts_per_leaf()));
    const SharingQuestion question{shared_slowdown(wish), wish.left_seconds, share_of_fabric,
                                   behind_, expected_wait(i)};
    if (is_worth_waiting(question)) return hold_back(i);
    share(i);
  }

  double shared_slowdown(const NetworkWish& wish) const {
    if (wish.iteration.iteration_seconds <= 0) return 0;
    const auto routed = traffic_of(network_, owners_, wish.wanted, LinkGrant{}, wish.iteration);
    return routed.traffic.alone_seconds() / wish.iteration.iteration_seconds - 1;
  }

  void share(std::size_t i) {
    const NetworkWish& wish = wishes_[i];
    LinkGrant links;
    links.shift = shift_for(i);
    places_[i] = {wish.wanted, std::make_shared<const LinkGrant>(std::move(links))};
    places_[i].slowdown = shared_slowdown(wish);
  }

  // Away from those whose leaves it shares.
  Duration shift_for(std::size_t i) const {
    const NetworkWish& wish = wishes_[i];
    std::vector<network::JobTraffic> traffic;
    std::vector<double> shifts;
    for (std::size_t j = 0; j < wishes_.size(); ++j) {
      const NetworkPlace& other = places_[j];
      if (j == i || other.links == nullptr || other.links->use != LinkUse::shared ||
          !network_.leaves_of(other.block).overlaps(network_.leaves_of(wish.wanted)))
        continue;
      traffic.push_back(
          traffic_of(network_, owners_, other.block, *other.links, wishes_[j].iteration).traffic);
      shifts.push_back(std::chrono::duration<double>(other.links->shift).count());
    }
    if (traffic.empty()) return Duration{0};
    std::vector<network::TurningJob> others;
    for (std::size_t j = 0; j < traffic.size(); ++j) others.push_back({&traffic[j], shifts[j]});
    const auto mine = traffic_of(network_, owners_, wish.wanted, LinkGrant{}, wish.iteration);
    const double seconds = network::best_shift(mine.traffic, others);
    return Duration{std::llround(seconds * 1e9)};
  }

  // The blocks of that size which are free for it, the best first: where it is, if its size stays; then
  // those that need the fewest links, and of these the policy's own choice.
  std::vector<GpuBlock> candidates(std::size_t i) const {
    const NetworkWish& wish = wishes_[i];
    BlockMap free = gpus_;
    free.give_back(wish.wanted);
    std::vector<GpuBlock> blocks;
    const std::uint32_t size = wish.wanted.size;
    for (std::uint32_t first = 0; first + size <= free.gpu_count(); first += size) {
      if (free.is_free({first, size})) blocks.push_back({first, size});
    }
    const bool may_stay = wish.present.size == size;
    const auto rank = [&](GpuBlock block) {
      const bool is_wanted = block == wish.wanted;
      const bool is_present = block == wish.present;
      return std::tuple{may_stay ? !is_wanted && !is_present : false, may_stay && !is_wanted,
                        links_of(block), !is_wanted};
    };
    std::stable_sort(blocks.begin(), blocks.end(),
                     [&](GpuBlock a, GpuBlock b) { return rank(a) < rank(b); });
    return blocks;
  }

  std::int64_t links_of(GpuBlock block) const {
    if (!network_.needs_links(block)) return 0;
    return std::int64_t{network_.uplinks_for(block)} * network_.leaves_of(block).count();
  }

  bool isolate(std::size_t i) {
    const NetworkWish& wish = wishes_[i];
    for (const GpuBlock block : candidates(i)) {
      if (!isolate_at(i, block)) continue;
      gpus_.give_back(wish.wanted);
      gpus_.take(block);
      return true;
    }
    return false;
  }

  bool isolate_at(std::size_t i, GpuBlock block) {
    if (!network_.needs_links(block)) {
      places_[i] = {block, nullptr};
      return true;
    }
    if (wiring_) {
      if (!wire(*wiring_, network_, wishes_[i].job, block)) return false;
      places_[i] = {block, nullptr};  // which circuits is known in the end
      return true;
    }
    const LeafRange leaves = network_.leaves_of(block);
    auto uplinks = owners_.find(leaves, network_.uplinks_for(block));
    if (!uplinks) return false;
    owners_.take(wishes_[i].job, leaves, *uplinks);
    if (cuts_somebody_off(leaves)) {
      owners_.release(wishes_[i].job, leaves, *uplinks);
      return false;
    }
    LinkGrant links{.use = LinkUse::own, .uplinks = std::move(*uplinks)};
    places_[i] = {block, std::make_shared<const LinkGrant>(std::move(links))};
    return true;
  }

  // A job that shares has no way left between two of its leaves.
  bool cuts_somebody_off(LeafRange around) const {
    return std::any_of(places_.begin(), places_.end(), [&](const NetworkPlace& place) {
      if (place.links == nullptr || place.links->use != LinkUse::shared) return false;
      const LeafRange leaves = network_.leaves_of(place.block);
      return leaves.overlaps(around) && !owners_.are_connected(leaves);
    });
  }

  void hold_back(std::size_t i) {
    gpus_.give_back(wishes_[i].wanted);
    places_[i] = {};
    if (stays(i)) {
      gpus_.take(wishes_[i].present);
    } else {
      places_[i].is_held_back = true;
    }
  }

  // On the GPUs and links that it has, unless others have got them by now.
  bool stays(std::size_t i) {
    const NetworkWish& wish = wishes_[i];
    if (wish.present.is_none() || !gpus_.is_free(wish.present)) return false;
    if (network_.needs_links(wish.present)) {
      if (wish.links == nullptr) return false;
      const LeafRange leaves = network_.leaves_of(wish.present);
      if (wish.links->use == LinkUse::shared && !owners_.are_connected(leaves)) return false;
      if (wish.links->use == LinkUse::own && !retakes(i, leaves)) return false;
      if (wiring_ && !wire(*wiring_, network_, wish.job, wish.present)) return false;
    }
    places_[i] = {wish.present, wish.links};
    return true;
  }

  bool retakes(std::size_t i, LeafRange leaves) {
    const std::vector<std::int32_t>& uplinks = wishes_[i].links->uplinks;
    for (const std::int32_t uplink : uplinks) {
      for (int leaf = leaves.first; leaf <= leaves.last; ++leaf) {
        if (!owners_.is_free(leaf, uplink)) return false;
      }
    }
    owners_.take(wishes_[i].job, leaves, uplinks);
    return true;
  }

  // Until links for a job of that size are free, if those that run end when they should.
  double expected_wait(std::size_t i) const {
    const NetworkWish& wish = wishes_[i];
    std::vector<std::pair<double, std::size_t>> ends;
    for (std::size_t j = 0; j < wishes_.size(); ++j) {
      if (j != i && is_kept(j) && !wishes_[j].wanted.is_none())
        ends.emplace_back(wishes_[j].left_seconds, j);
    }
    std::sort(ends.begin(), ends.end());
    LinkOwners later = owners_;
    BlockMap free = gpus_;
    free.give_back(wish.wanted);
    for (const auto& [seconds, j] : ends) {
      free.give_back(wishes_[j].wanted);
      const auto& links = places_[j].links;
      if (links != nullptr && links->use == LinkUse::own)
        later.release(wishes_[j].job, network_.leaves_of(wishes_[j].wanted), links->uplinks);
      const std::uint32_t size = wish.wanted.size;
      for (std::uint32_t first = 0; first + size <= free.gpu_count(); first += size) {
        const GpuBlock block{first, size};
        if (!free.is_free(block)) continue;
        if (!network_.needs_links(block) ||
            later.find(network_.leaves_of(block), network_.uplinks_for(block)))
          return seconds;
      }
    }
    return std::numeric_limits<double>::infinity();
  }

  void hand_out_circuits() {
    auto circuits = circuits_by_job(*wiring_);
    for (std::size_t i = 0; i < wishes_.size(); ++i) {
      const auto found = circuits.find(wishes_[i].job);
      if (found == circuits.end()) continue;
      const LinkGrant* before = is_kept(i) ? wishes_[i].links.get() : nullptr;
      if (before != nullptr && before->circuits == found->second) continue;
      LinkGrant links{.use = LinkUse::circuits, .circuits = std::move(found->second)};
      places_[i].links = std::make_shared<const LinkGrant>(std::move(links));
      places_[i].is_rewired = before != nullptr;
    }
  }

  const PoolNetwork& network_;
  NetworkPlacement placement_;
  std::span<const NetworkWish> wishes_;
  std::int64_t behind_;
  BlockMap gpus_;  // taken: closed, or somebody's from now on
  LinkOwners owners_;
  std::optional<network::CircuitWiring> wiring_;
  std::vector<NetworkPlace> places_;
};

}  // namespace

std::vector<NetworkPlace> place_on_network(const PoolNetwork& network, NetworkPlacement placement,
                                           const BlockMap& closed,
                                           std::span<const NetworkWish> wishes,
                                           std::int64_t behind) {
  return NetworkPlacer{network, placement, closed, wishes, behind}.place();
}

}  // namespace weir::schedule
