// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/decide.h"

#include <algorithm>
#include <utility>

namespace weir::schedule {
namespace {

class Decision {
 public:
  Decision(const State& state, Placer& placer, QueueRule rule, Time now)
      : state_{state}, placer_{placer}, rule_{rule}, now_{now} {}

  void operator()(const JobSubmitted& event) {
    if (!is_well_formed(event.shape) || event.replicas < 1) {
      return add(EventIgnored{}, ReasonCode::malformed);
    }
    const JobId job = state_.next_job();
    const ShapeIndex number = placer_.number_of(state_, event.shape);
    add(JobAccepted{job, number, event.shape, event.replicas}, ReasonCode::as_reported);
    const bool must_wait = rule_ == QueueRule::fifo && !state_.queue.empty();
    if (!must_wait) {
      if (auto proposal = placer_.propose(state_, job, number, event.shape, event.replicas)) {
        return add(JobPlaced{job, std::move(proposal->placements)}, ReasonCode::best_score,
                   proposal->score);
      }
    }
    // A job that can never run must not stand in the queue: in a plain one it would block all others.
    if (state_.layout->room_when_empty(event.shape, event.replicas) < event.replicas) {
      return add(JobRejected{job}, ReasonCode::never_fits);
    }
    if (must_wait) {
      return add(JobQueued{job}, ReasonCode::waits_for_earlier, state_.queue.head()->value);
    }
    if (rule_ == QueueRule::drop) return add(JobRejected{job}, ReasonCode::no_node_fits);
    add(JobQueued{job}, ReasonCode::no_node_fits);
  }

  void operator()(const JobFinished& event) {
    if (!state_.knows(event.job))
      return add(EventIgnored{}, ReasonCode::unknown_job, event.job.value);
    if (state_.job(event.job).phase != JobPhase::running) {
      return add(EventIgnored{}, ReasonCode::not_running, event.job.value);
    }
    add(JobReleased{event.job}, ReasonCode::as_reported);
  }

  void operator()(const JobCancelled& event) {
    if (!state_.knows(event.job))
      return add(EventIgnored{}, ReasonCode::unknown_job, event.job.value);
    const JobPhase phase = state_.job(event.job).phase;
    if (phase == JobPhase::running) return add(JobReleased{event.job}, ReasonCode::cancelled);
    if (phase == JobPhase::queued) return add(JobRejected{event.job}, ReasonCode::cancelled);
    add(EventIgnored{}, ReasonCode::already_so);
  }

  void operator()(const JobFailed& event) {
    if (!state_.knows(event.job))
      return add(EventIgnored{}, ReasonCode::unknown_job, event.job.value);
    if (state_.job(event.job).phase != JobPhase::running) {
      return add(EventIgnored{}, ReasonCode::not_running, event.job.value);
    }
    add(JobReleased{event.job}, ReasonCode::failed);
  }

  void operator()(const NodesObserved& event) {
    if (event.nodes.empty()) return add(EventIgnored{}, ReasonCode::already_so);
    for (const ObservedNode& node : event.nodes) {
      const bool has_model = node.model_id.value < kMaxGpuModels;
      if (node.gpu_count < 0 || node.gpu_count > kMaxGpusPerNode ||
          has_model != (node.gpu_count > 0))
        return add(EventIgnored{}, ReasonCode::malformed, node.id.value);
    }
    auto nodes = event.nodes;
    for (ObservedNode& node : nodes) keep_gpus_in_use(node);
    add(NodesKnown{std::make_shared<const std::vector<ObservedNode>>(std::move(nodes))},
        ReasonCode::observed);
  }

  void operator()(const TaskObserved& event) {
    if (!is_well_formed(event.shape)) return add(EventIgnored{}, ReasonCode::malformed);
    const JobId job = state_.next_job();
    add(JobAccepted{job, placer_.number_of(state_, event.shape), event.shape, 1},
        ReasonCode::observed);
    add(JobQueued{job}, ReasonCode::observed);
  }

  void operator()(const PlacementObserved& event) {
    if (!state_.knows(event.job))
      return add(EventIgnored{}, ReasonCode::unknown_job, event.job.value);
    if (state_.job(event.job).phase != JobPhase::queued)
      return add(EventIgnored{}, ReasonCode::already_so);
    const auto index = known_node(event.node);
    if (!index) return;
    const NodeState& node = state_.nodes[index->value];
    const Shape& shape = state_.shapes[state_.job(event.job).shape.value];
    const auto gpus = observed_gpus(node, shape, event.gpus);
    if (!gpus) return add(EventIgnored{}, ReasonCode::overcommitted, event.node.value);
    add(JobPlaced{event.job, PlacementList{Placement{*index, *gpus}}}, ReasonCode::observed);
  }

  void operator()(const NodeLost& event) {
    const auto node = known_node(event.node);
    if (!node) return;
    if (!state_.nodes[node->value].is_up) return add(EventIgnored{}, ReasonCode::already_so);
    add(NodeClosed{*node}, ReasonCode::as_reported);
    if (rule_ == QueueRule::observe) return;  // what became of its tasks will be observed
    for (std::size_t i = 0; i < state_.jobs.size(); ++i) {
      const auto placements = state_.jobs[i].placements.all();
      const bool is_hit =
          std::any_of(placements.begin(), placements.end(),
                      [&](const Placement& placement) { return placement.node == *node; });
      if (!is_hit) continue;
      const JobId job{i + 1};
      add(JobInterrupted{job}, ReasonCode::node_lost, event.node.value);
      if (rule_ == QueueRule::drop) {
        add(JobRejected{job}, ReasonCode::node_lost, event.node.value);
      } else {
        add(JobQueued{job}, ReasonCode::node_lost, event.node.value);
      }
    }
  }

  void operator()(const NodeReturned& event) {
    const auto node = known_node(event.node);
    if (!node) return;
    if (state_.nodes[node->value].is_up) return add(EventIgnored{}, ReasonCode::already_so);
    add(NodeOpened{*node}, ReasonCode::as_reported);
  }

  // Decided in decide_training.cpp.
  template <class TrainingEvent>
  void operator()(const TrainingEvent&) {}

  std::vector<Record> take_records() { return std::move(records_); }

 private:
  std::optional<NodeIndex> known_node(NodeId id) {
    const auto at = state_.layout->index_of.find(id);
    if (at != state_.layout->index_of.end()) return at->second;
    add(EventIgnored{}, ReasonCode::unknown_node, id.value);
    return std::nullopt;
  }

  // The GPUs that were named, if they have room; otherwise those a device plugin would take first.
  static std::optional<GpuMask> observed_gpus(const NodeState& node, const Shape& shape,
                                              GpuMask named) {
    if (shape.is_cpu_only()) return GpuMask{};
    const auto has_room = [&](int gpu) {
      return node.free_gpu[static_cast<std::size_t>(gpu)] >= shape.gpu_share.value;
    };
    GpuMask chosen;
    for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
      if (named.contains(gpu) && has_room(gpu)) chosen.insert(gpu);
    }
    if (chosen.count() == shape.gpu_count) return chosen;
    chosen = {};
    if (shape.shares_gpu()) {
      int room = 0;
      for (int gpu = 0; gpu < node.gpu_count; ++gpu) room += has_room(gpu) ? 1 : 0;
      if (room > 0) return tightest_gpus(node, shape);
      return std::nullopt;
    }
    chosen = first_whole_gpus(node, shape.gpu_count);
    if (chosen.count() < shape.gpu_count) return std::nullopt;
    return chosen;
  }

  // A node may say that it has fewer GPUs than its tasks still hold.
  void keep_gpus_in_use(ObservedNode& node) const {
    const auto at = state_.layout->index_of.find(node.id);
    if (at == state_.layout->index_of.end()) return;
    const NodeState& now = state_.nodes[at->second.value];
    for (int gpu = now.gpu_count; gpu > node.gpu_count; --gpu) {
      if (now.free_gpu[static_cast<std::size_t>(gpu - 1)] == kWholeGpu.value) continue;
      node.gpu_count = gpu;
      node.model_id = now.model;
      return;
    }
  }

  template <class What>
  void add(What what, ReasonCode code, std::uint64_t detail = 0) {
    if (records_.capacity() == 0) records_.reserve(2);  // nearly every event
    records_.push_back(Record{now_, Reason{code, detail}, std::move(what)});
  }

  const State& state_;
  Placer& placer_;
  QueueRule rule_;
  Time now_;
  std::vector<Record> records_;
};

}  // namespace

std::vector<Record> decide(const State& state, Placer& placer, QueueRule rule, const Event& event) {
  Decision decision{state, placer, rule, event.at};
  std::visit(decision, event.what);
  return decision.take_records();
}

std::optional<Record> decide_target(const State& state, Time now) {
  if (!state.learns_target || !state.estimate.is_due()) return std::nullopt;
  auto target = std::make_shared<const TargetWorkload>(state.estimate.current());
  return Record{
      now,
      Reason{ReasonCode::workload_drifted, static_cast<std::uint64_t>(state.estimate.observed())},
      TargetWorkloadRevised{state.target_version + 1, std::move(target)}};
}

std::optional<Record> decide_next_start(const State& state, Placer& placer, QueueRule rule,
                                        Time now, const RoomSince& since) {
  const std::optional<JobId> head = state.queue.head();
  if (!head || rule == QueueRule::observe) return std::nullopt;
  // Backfill left no lane that fits, so one replica at least must go where there is more room than
  // before. In a plain queue the job behind the head was not looked at.
  const auto may_fit = [&](const Shape& shape) {
    return rule == QueueRule::fifo || since.anywhere ||
           std::any_of(since.roomier.begin(), since.roomier.end(),
                       [&](NodeIndex node) { return fits(state.nodes[node.value], shape); });
  };
  std::optional<JobId> first;
  Proposal best;
  for (const WaitingLine::Lane& lane : state.queue.lanes()) {
    if (lane.jobs.empty()) continue;
    const JobId job = lane.jobs.front();
    if (first && *first < job) continue;
    if (rule != QueueRule::backfill && job != *head) continue;
    const Shape& shape = state.shapes[lane.shape.value];
    if (!may_fit(shape)) continue;
    auto proposal = placer.propose(state, job, lane.shape, shape, lane.replicas);
    if (!proposal) continue;
    first = job;
    best = std::move(*proposal);
  }
  if (!first) return std::nullopt;
  return Record{now, Reason{ReasonCode::best_score, best.score},
                JobPlaced{*first, std::move(best.placements)}};
}

}  // namespace weir::schedule
