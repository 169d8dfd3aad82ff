// SPDX-License-Identifier: Apache-2.0
//
// What one address may do: so many connections at once, so many requests per second. All of an IPv6 network of 64
// bits count as one: whoever has one address there has them all. May be used from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "transport/token_bucket.h"

namespace weir::transport {

class AddressLimits {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // connections 0: any number.
  AddressLimits(std::size_t connections, RateLimit rate);

  // A connection from there. False: it has enough of them. Each that was let in must leave.
  bool enter(const std::string& address, Time now);
  void leave(const std::string& address);
  // Seconds to wait, or 0 when the request may pass. Requires: it has a connection.
  long seconds_to_wait(const std::string& address, Time now);

  std::size_t known() const;

 private:
  struct Peer {
    std::size_t connections = 0;
    TokenBucket requests;
    Time seen;
  };
  // Those that have been away for long enough to start afresh.
  void forget(Time now);
  bool is_limited() const { return most_connections_ > 0 || rate_.per_second > 0; }

  const std::size_t most_connections_;
  const RateLimit rate_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Peer> peers_;
  std::size_t forget_at_ = 1024;
};

}  // namespace weir::transport
