// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/core.h"

#include <algorithm>
#include <optional>

namespace weir::schedule {
namespace {

// The job whose resources the record frees, if it frees any.
std::optional<JobId> job_freed_by(const Record& record) {
  if (const auto* released = std::get_if<JobReleased>(&record.what)) return released->job;
  if (const auto* interrupted = std::get_if<JobInterrupted>(&record.what)) return interrupted->job;
  return std::nullopt;
}

bool makes_room(const Record& record) {
  return job_freed_by(record) || std::holds_alternative<NodeOpened>(record.what);
}

}  // namespace

Core::Core(const CoreConfig& config, State state)
    : config_{config}, state_{std::move(state)}, placer_{*config.policy, config.seed, state_} {}

void Core::apply(const Record& record) {
  if (const auto freed = job_freed_by(record)) {
    const PlacementList were = state_.job(*freed).placements;
    evolve(state_, record);
    for (const Placement& placement : were.all()) placer_.node_changed(placement.node);
  } else {
    evolve(state_, record);
  }
  placer_.follow(state_, record);
}

std::vector<Record> Core::handle(const Event& event) {
  std::vector<Record> records = decide(state_, placer_, config_.queue, event);
  for (const Record& record : records) apply(record);
  if (auto revised = decide_target(state_, event.at)) {
    apply(*revised);
    records.push_back(std::move(*revised));
  }
  if (!state_.queue.empty() && std::any_of(records.begin(), records.end(), makes_room)) {
    start_queued(event.at, records);
  }
  return records;
}

void Core::start_queued(Time now, std::vector<Record>& records) {
  std::size_t from = 0;
  while (auto start = decide_next_start(state_, placer_, config_.queue, now, from)) {
    apply(*start);
    records.push_back(std::move(*start));
  }
}

}  // namespace weir::schedule
