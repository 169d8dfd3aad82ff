// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/core.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>

#include "schedule/core/decide_training.h"

namespace weir::schedule {
namespace {

// The job whose resources the record frees, if it frees any.
std::optional<JobId> job_freed_by(const Record& record) {
  if (const auto* released = std::get_if<JobReleased>(&record.what)) return released->job;
  if (const auto* interrupted = std::get_if<JobInterrupted>(&record.what)) return interrupted->job;
  return std::nullopt;
}

// The pool has other GPUs afterwards.
bool changes_a_pool(const Record& record) {
  return std::holds_alternative<PoolNodeClosed>(record.what) ||
         std::holds_alternative<PoolNodeOpened>(record.what) ||
         std::holds_alternative<ForeignUseKnown>(record.what);
}

}  // namespace

Core::Core(const CoreConfig& config, State state)
    : config_{config},
      state_{std::move(state)},
      placer_{*config.policy, config.seed, state_},
      training_index_{state_.training, Time::min()} {}

void Core::apply(const Record& record) {
  if (const auto freed = job_freed_by(record)) {
    const PlacementList were = state_.job(*freed).placements;
    evolve(state_, record);
    for (const Placement& placement : were.all()) {
      placer_.node_changed(placement.node);
      since_.roomier.push_back(placement.node);
    }
    // An interrupted job joins the queue untried: there may be room for it elsewhere.
    if (std::holds_alternative<JobInterrupted>(record.what)) since_.anywhere = true;
  } else {
    evolve(state_, record);
    if (const auto* opened = std::get_if<NodeOpened>(&record.what))
      since_.roomier.push_back(opened->node);
  }
  placer_.follow(state_, record);
}

std::optional<std::vector<Record>> Core::handle_training(const Event& event) {
  if (!concerns_training(event)) return std::nullopt;
  if (config_.training_policy == nullptr) {
    return std::vector{Record{event.at, {ReasonCode::malformed, 0}, EventIgnored{}}};
  }
  training_index_.advance_to(event.at);
  const auto decision_now = [&] {
    return TrainingDecision{state_.training,  training_index_, *config_.training_policy,
                            config_.training, event.at,        state_.next_job()};
  };
  std::vector<Record> records;
  const auto add = [&](std::vector<Record> more) {
    apply_training(more, event.at);
    std::move(more.begin(), more.end(), std::back_inserter(records));
  };
  if (std::holds_alternative<TimerFired>(event.what)) {
    for (const JobId id : decision_now().overdue()) {
      TrainingDecision next = decision_now();
      next.mend_overdue(id);
      add(next.take_records());
    }
  }
  TrainingDecision decision = decision_now();
  std::visit(
      [&](const auto& what) {
        if constexpr (std::is_invocable_v<TrainingDecision&, decltype(what)>) decision(what);
      },
      event.what);
  if (std::holds_alternative<TimerFired>(event.what)) wake_up_ = decision.wake_up();
  add(decision.take_records());
  // Promises that were made come before jobs that wait for an answer.
  if (const auto* curve = std::get_if<CurveUpdated>(&event.what)) {
    for (const JobId id : decision_now().promised_with(*curve)) {
      TrainingDecision next = decision_now();
      next.mend_with_new_curve(id);
      add(next.take_records());
    }
  }
  // What the new state asks for, until it asks for nothing more.
  for (bool is_settled = false; !is_settled;) {
    TrainingDecision next = decision_now();
    next.follow_up(event);
    std::vector<Record> more = next.take_records();
    is_settled = more.empty() || !std::holds_alternative<CurveUpdated>(event.what);
    add(std::move(more));
  }
  return records;
}

void Core::apply_training(const std::vector<Record>& records, Time now) {
  // Following many changes one by one would cost more than beginning anew.
  constexpr std::size_t kMany = 256;
  const bool is_much =
      records.size() > kMany || std::any_of(records.begin(), records.end(), changes_a_pool);
  for (const Record& record : records) {
    if (!is_much) training_index_.before(state_.training, record);
    evolve(state_, record);
    if (!is_much) training_index_.after(state_.training, record);
  }
  if (is_much) training_index_.rebuild(state_.training, now);
}

bool Core::concerns_training(const Event& event) const {
  const auto is_training_job = [&](JobId job) {
    return state_.knows(job) && state_.job(job).phase == JobPhase::training;
  };
  if (const auto* finished = std::get_if<JobFinished>(&event.what))
    return is_training_job(finished->job);
  const auto is_training_node = [&](NodeId node) {
    return find_node(state_.training, node).has_value();
  };
  if (const auto* lost = std::get_if<NodeLost>(&event.what)) return is_training_node(lost->node);
  if (const auto* back = std::get_if<NodeReturned>(&event.what))
    return is_training_node(back->node);
  if (const auto* drained = std::get_if<NodeDrained>(&event.what))
    return is_training_node(drained->node);
  if (const auto* foreign = std::get_if<ForeignUseObserved>(&event.what))
    return is_training_node(foreign->node);
  if (const auto* cancelled = std::get_if<JobCancelled>(&event.what))
    return !state_.knows(cancelled->job) || is_training_job(cancelled->job);
  if (const auto* failed = std::get_if<JobFailed>(&event.what))
    return !state_.knows(failed->job) || is_training_job(failed->job);
  return !std::holds_alternative<JobSubmitted>(event.what) &&
         !std::holds_alternative<NodesObserved>(event.what) &&
         !std::holds_alternative<TaskObserved>(event.what) &&
         !std::holds_alternative<PlacementObserved>(event.what);
}

std::vector<Record> Core::handle(const Event& event) {
  if (auto records = handle_training(event)) return std::move(*records);
  std::vector<Record> records = decide(state_, placer_, config_.queue, event);
  for (const Record& record : records) apply(record);
  if (auto revised = decide_target(state_, event.at)) {
    apply(*revised);
    records.push_back(std::move(*revised));
  }
  if (!since_.empty()) start_queued(event.at, records);
  return records;
}

void Core::start_queued(Time now, std::vector<Record>& records) {
  while (auto start = decide_next_start(state_, placer_, config_.queue, now, since_)) {
    apply(*start);
    records.push_back(std::move(*start));
  }
  since_ = RoomSince{};
}

}  // namespace weir::schedule
