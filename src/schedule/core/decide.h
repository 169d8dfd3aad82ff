// SPDX-License-Identifier: Apache-2.0
//
// All policy of the scheduler: what follows from an event, as records. Nothing here changes the state;
// the placer is an index beside it and is left saying the same as before.
#pragma once

#include <cstddef>
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
};

std::vector<Record> decide(const State& state, Placer& placer, QueueRule rule, const Event& event);

// Whether the learned target workload should replace the one in use.
std::optional<Record> decide_target(const State& state, Time now);

// The next queued job that can start, looking from queue position `from` on. `from` moves to where the next
// call should go on: starting one job never makes room for an earlier one.
std::optional<Record> decide_next_start(const State& state, Placer& placer, QueueRule rule, Time now,
                                        std::size_t& from);

}  // namespace weir::schedule
