// SPDX-License-Identifier: Apache-2.0
//
// The scheduler's time in the real world. It is UTC when the store is made, and from then on it runs
// evenly, whatever is done to the wall clock, also across restarts of the program. What the wall clock
// shows beside it is kept as an offset: deadlines that people write are wall time, promises are kept in
// the scheduler's.
#pragma once

#include <optional>

#include "control/store.h"
#include "domain/time.h"

namespace weir::control {

// What the machine says. Tests have their own.
class ClockSource {
 public:
  virtual ~ClockSource() = default;
  virtual Time wall() const = 0;
  virtual Duration since_boot() const = 0;  // never set, counts sleep
  virtual std::string boot_id() const = 0;
};
const ClockSource& machine_clocks();

class LiveClock {
 public:
  // Goes on from `mark`: by the time since boot if the machine has not been restarted, else by the wall
  // clock, but never back.
  explicit LiveClock(const std::optional<ClockMark>& mark,
                     const ClockSource& source = machine_clocks());

  Time now() const { return origin_ + (source_.since_boot() - origin_since_boot_); }

  // How far the wall clock was set since the last call, if it was: half a second counts.
  std::optional<Duration> take_step();

  Time to_wall(Time time) const { return time + wall_ahead_; }
  Time from_wall(Time wall) const { return wall - wall_ahead_; }
  Duration wall_ahead() const { return wall_ahead_; }
  ClockMark mark() const;

 private:
  const ClockSource& source_;
  Time origin_;
  Duration origin_since_boot_{0};
  Duration wall_ahead_{0};
  std::string boot_id_;
};

}  // namespace weir::control
