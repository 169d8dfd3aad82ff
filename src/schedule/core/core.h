// SPDX-License-Identifier: Apache-2.0
//
// The scheduler as one object: events in, records out. No I/O, no clock, no threads. The simulator
// and the live control plane drive the same one and it cannot tell which.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/event.h"
#include "domain/record.h"
#include "schedule/core/decide.h"
#include "schedule/core/placer.h"
#include "schedule/core/state.h"
#include "schedule/core/training_index.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

struct CoreConfig {
  const PlacementPolicy* policy = nullptr;
  std::uint64_t seed = 42;  // of the policy's own draws
  QueueRule queue = QueueRule::drop;
  // For training jobs; null when there are no training pools.
  const TrainingPolicy* training_policy = nullptr;
  TrainingConfig training{};
};

class Core {
 public:
  // Requires: config.policy is not null and outlives the core.
  Core(const CoreConfig& config, State state);

  // Decides what follows from the event, moves the state there, and returns the records in order.
  std::vector<Record> handle(const Event& event);

  // When to send a TimerFired if nothing else happens. The beginning of time at first: a core that
  // has not decided yet should.
  Time wake_up() const { return wake_up_; }

  const State& state() const { return state_; }
  // For what-if on another thread.
  State fork_state() { return state_.fork(); }
  const Placer& placer() const { return placer_; }
  const TrainingIndex& training_index() const { return training_index_; }

 private:
  void apply(const Record& record);
  bool concerns_training(const Event& event) const;
  // Nothing when the event is not about training.
  std::optional<std::vector<Record>> handle_training(const Event& event);
  void apply_training(const std::vector<Record>& records, Time now);
  void start_queued(Time now, std::vector<Record>& records);

  CoreConfig config_;
  State state_;
  Placer placer_;
  RoomSince since_;  // empty between events
  TrainingIndex training_index_;
  Time wake_up_ = Time::min();
};

}  // namespace weir::schedule
