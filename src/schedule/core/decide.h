// SPDX-License-Identifier: Apache-2.0
//
// All policy of the scheduler: what follows from an event, as records. Nothing here changes the
// state; the placer is an index beside it and is left saying the same as before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/event.h"
#include "domain/record.h"
#include "schedule/core/placer.h"
#include "schedule/core/state.h"

namespace weir::schedule {

// What becomes of a job that finds no room.
enum class QueueRule : std::uint8_t {
  drop,      // it is rejected
  fifo,      // it waits; the first in the queue holds back all others
  backfill,  // it waits; any queued job that fits may start, in queue order
  observe,   // another scheduler places jobs: nothing is decided, only what it does is recorded
};

std::vector<Record> decide(const State& state, Placer& placer, QueueRule rule, const Event& event);

// Whether the learned target workload should replace the one in use.
std::optional<Record> decide_target(const State& state, Time now);

// Where a queued job might find room that had none when the queue was looked at last.
struct RoomSince {
  std::vector<NodeIndex> roomier;  // nodes that gained room
  bool anywhere = false;           // jobs joined the queue without having been tried

  bool empty() const { return roomier.empty() && !anywhere; }
};

// The first queued job that can start. Ask again, after evolve, until there is none.
std::optional<Record> decide_next_start(const State& state, Placer& placer, QueueRule rule,
                                        Time now, const RoomSince& since);

}  // namespace weir::schedule
