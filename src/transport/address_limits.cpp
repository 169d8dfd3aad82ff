// SPDX-License-Identifier: Apache-2.0
#include "transport/address_limits.h"

#include <algorithm>

namespace weir::transport {

AddressLimits::AddressLimits(std::size_t connections, RateLimit rate)
    : most_connections_{connections}, rate_{rate} {}

bool AddressLimits::enter(const std::string& address, Time now) {
  if (!is_limited()) return true;
  const std::lock_guard lock{mutex_};
  if (peers_.size() >= forget_at_) forget(now);
  Peer& peer = peers_.try_emplace(address, Peer{0, TokenBucket{rate_, now}, now}).first->second;
  peer.seen = now;
  if (most_connections_ > 0 && peer.connections >= most_connections_) return false;
  ++peer.connections;
  return true;
}

void AddressLimits::leave(const std::string& address) {
  if (!is_limited()) return;
  const std::lock_guard lock{mutex_};
  const auto at = peers_.find(address);
  if (at == peers_.end() || at->second.connections == 0) return;
  --at->second.connections;
  // Without a rate there is nothing to remember.
  if (at->second.connections == 0 && rate_.per_second <= 0) peers_.erase(at);
}

long AddressLimits::seconds_to_wait(const std::string& address, Time now) {
  if (rate_.per_second <= 0) return 0;
  const std::lock_guard lock{mutex_};
  const auto at = peers_.find(address);
  if (at == peers_.end()) return 0;
  at->second.seen = now;
  return at->second.requests.take(now) ? 0 : at->second.requests.wait_seconds();
}

void AddressLimits::forget(Time now) {
  constexpr double kLongest = 3600;
  const double full_again =
      rate_.per_second > 0 ? std::min(kLongest, rate_.at_once / rate_.per_second + 1) : 0;
  std::erase_if(peers_, [&](const auto& each) {
    const double away = std::chrono::duration<double>(now - each.second.seen).count();
    return each.second.connections == 0 && away > full_again;
  });
  // A flood from many addresses must not make every connection look at all of them.
  constexpr std::size_t kFewest = 1024;
  forget_at_ = std::max(kFewest, 2 * peers_.size());
}

std::size_t AddressLimits::known() const {
  const std::lock_guard lock{mutex_};
  return peers_.size();
}

}  // namespace weir::transport
