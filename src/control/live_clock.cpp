// SPDX-License-Identifier: Apache-2.0
#include "control/live_clock.h"

#include <time.h>

#include <algorithm>
#include <fstream>

namespace weir::control {
namespace {

constexpr Duration kStep = std::chrono::milliseconds{500};

Duration read_clock(clockid_t id) {
  timespec time{};
  clock_gettime(id, &time);
  return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

class MachineClocks final : public ClockSource {
 public:
  Time wall() const override { return Time{read_clock(CLOCK_REALTIME)}; }
  Duration since_boot() const override { return read_clock(CLOCK_BOOTTIME); }
  std::string boot_id() const override {
    std::ifstream file{"/proc/sys/kernel/random/boot_id"};
    std::string id;
    std::getline(file, id);
    return id;
  }
};

}  // namespace

const ClockSource& machine_clocks() {
  static const MachineClocks clocks;
  return clocks;
}

LiveClock::LiveClock(const std::optional<ClockMark>& mark, const ClockSource& source)
    : source_{source}, boot_id_{source.boot_id()} {
  const Time wall = source.wall();
  origin_since_boot_ = source.since_boot();
  if (!mark) {
    origin_ = wall;
    return;
  }
  const Duration passed = origin_since_boot_ - Duration{mark->boottime_ns};
  const bool same_boot = mark->boot_id == boot_id_ && passed >= Duration{0};
  origin_ = same_boot ? mark->now + passed : std::max(mark->now, wall - mark->wall_ahead);
  // What it was: a difference shows as a step.
  wall_ahead_ = mark->wall_ahead;
}

std::optional<Duration> LiveClock::take_step() {
  const Duration step = source_.wall() - now() - wall_ahead_;
  if (std::chrono::abs(step) < kStep) return std::nullopt;
  wall_ahead_ += step;
  return step;
}

ClockMark LiveClock::mark() const {
  const Duration since_boot = source_.since_boot();
  return {boot_id_, since_boot.count(), origin_ + (since_boot - origin_since_boot_), wall_ahead_};
}

}  // namespace weir::control
