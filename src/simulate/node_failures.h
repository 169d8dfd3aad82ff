// SPDX-License-Identifier: Apache-2.0
//
// When nodes fail and come back. A node is up for an exponentially distributed time, whatever its age
// and whatever runs on it, and then away for as long as a repair takes. Every node draws from a stream
// of its own, so the failures depend on the seed alone: they are the same under every policy, and a
// longer run only sees more of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "domain/seeded_rng.h"
#include "domain/time.h"

namespace weir::simulate {

struct NodeFailures {
  Duration mtbf{0};  // how long a node is up, on average; 0: none fails
  Duration repair = std::chrono::hours{1};
  std::uint64_t seed = 42;
};

class FailureClock {
 public:
  FailureClock(const NodeFailures& failures, std::size_t nodes, Time start);

  struct Change {
    Time at;
    std::size_t node = 0;
    bool is_failure = true;  // else it is back
    friend auto operator<=>(const Change&, const Change&) = default;
  };
  // The next change; Time::max() when no node ever fails. Of changes at one time, the first node's.
  Time next_at() const { return changes_.empty() ? Time::max() : changes_.top().at; }
  // Requires: there is one.
  Change take_next();

  // How many nodes are away.
  std::size_t down() const { return down_; }

 private:
  Duration time_up(std::size_t node);

  NodeFailures failures_;
  std::vector<SeededRng> draws_;                                              // by node
  std::priority_queue<Change, std::vector<Change>, std::greater<>> changes_;  // one for each node
  std::size_t down_ = 0;
};

}  // namespace weir::simulate
