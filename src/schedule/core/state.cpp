// SPDX-License-Identifier: Apache-2.0
#include "schedule/core/state.h"

#include <cassert>
#include <unordered_set>

namespace weir::schedule {
namespace {

class Evolution {
 public:
  Evolution(State& state, const Record& record) : state_{state}, record_{record} {}

  void operator()(const JobAccepted& record) const {
    assert(record.job == state_.next_job() && "records must be folded in order, each once");
    if (record.shape_index.value == state_.shapes.size()) state_.shapes.push_back(record.shape);
    state_.jobs.push_back(JobState{{}, record.shape_index, record.replicas, JobPhase::accepted});
    if (state_.learns_target) state_.estimate.observe(record.shape, record.replicas);
    if (state_.training.is_enabled()) state_.training.jobs.push_back(TrainingJob{});
  }

  void operator()(const JobPlaced& record) const {
    JobState& job = write(record.job);
    if (job.phase == JobPhase::queued) state_.queue.leave(record.job, job.shape, job.replicas);
    job.phase = JobPhase::running;
    job.placements = record.placements;
    const Shape& shape = state_.shapes[job.shape.value];
    const bool was_chosen = record_.reason.code != ReasonCode::observed;
    for (const Placement& placement : record.placements.all()) {
      NodeState& node = state_.nodes.at_for_write(placement.node.value);
      was_chosen ? take(node, shape, placement.gpus) : occupy(node, shape, placement.gpus);
    }
  }

  void operator()(const NodesKnown& record) const {
    state_.layout =
        std::make_shared<const ClusterLayout>(with_nodes(*state_.layout, *record.nodes));
    std::unordered_set<NodeIndex> replaced;
    for (const ObservedNode& node : *record.nodes) {
      const NodeIndex index = state_.layout->index_of.at(node.id);
      NodeState now = state_.layout->empty[index.value];
      now.is_up = node.is_up;
      if (index.value == state_.nodes.size()) {
        state_.nodes.push_back(now);
      } else {
        state_.nodes.at_for_write(index.value) = now;
        replaced.insert(index);
      }
    }
    if (!replaced.empty()) occupy_again(replaced);
  }

  void operator()(const JobQueued& record) const {
    JobState& job = write(record.job);
    job.phase = JobPhase::queued;
    state_.queue.join(record.job, job.shape, job.replicas);
  }

  void operator()(const JobRejected& record) const { end(record.job, JobPhase::rejected); }
  void operator()(const JobReleased& record) const {
    if (state_.job(record.job).phase == JobPhase::training) return train(record);
    end(record.job, JobPhase::finished);
  }
  void operator()(const JobInterrupted& record) const { end(record.job, JobPhase::interrupted); }

  void operator()(const NodeClosed& record) const {
    state_.nodes.at_for_write(record.node.value).is_up = false;
  }
  void operator()(const NodeOpened& record) const {
    state_.nodes.at_for_write(record.node.value) = state_.layout->empty[record.node.value];
  }

  void operator()(const TargetWorkloadRevised& record) const {
    state_.target = record.target;
    state_.target_version = record.version;
    state_.estimate.mark_published();
  }

  void operator()(const TrainingAccepted& record) const {
    assert(record.job == state_.next_job() && "records must be folded in order, each once");
    JobState placeholder;
    placeholder.phase = JobPhase::training;
    state_.jobs.push_back(placeholder);
    train(record);
  }
  void operator()(const PromiseMade& record) const { train(record); }
  void operator()(const TimelineRevised& record) const { train(record); }
  void operator()(const PromiseRefused& record) const { train(record); }
  void operator()(const JobUnpromised& record) const { train(record); }
  void operator()(const JobResized& record) const { train(record); }
  void operator()(const JobObserved& record) const { train(record); }
  void operator()(const PromiseAtRisk& record) const { train(record); }
  void operator()(const CurveAdopted& record) const { train(record); }
  void operator()(const PlannedProvisionally& record) const { train(record); }
  void operator()(const PoolNodeClosed& record) const { train(record); }
  void operator()(const PoolNodeOpened& record) const { train(record); }
  void operator()(const ForeignUseKnown& record) const { train(record); }

  void operator()(const RescaleCostAdopted& record) const { train(record); }
  void operator()(const TenantsAdopted& record) const { train(record); }
  void operator()(const ClockSet& record) const { train(record); }
  void operator()(const EnergyPriceSet& record) const { train(record); }

  void operator()(const SupplyAdopted& record) const { train(record); }
  void operator()(const EnergyTermsAdopted& record) const { train(record); }
  void operator()(const PowerTableAdopted& record) const { train(record); }
  void operator()(const NetworkTermsAdopted& record) const { train(record); }
  void operator()(const LinksGiven& record) const { train(record); }

  void operator()(const ClockStepSeen&) const {}
  void operator()(const EventIgnored&) const {}

 private:
  JobState& write(JobId job) const { return state_.jobs.at_for_write(State::position_of(job)); }

  void occupy_again(const std::unordered_set<NodeIndex>& replaced) const {
    for (std::size_t i = 0; i < state_.jobs.size(); ++i) {
      const JobState& job = state_.jobs[i];
      for (const Placement& placement : job.placements.all()) {
        if (!replaced.contains(placement.node)) continue;
        occupy(state_.nodes.at_for_write(placement.node.value), state_.shapes[job.shape.value],
               placement.gpus);
      }
    }
  }

  void end(JobId id, JobPhase phase) const {
    JobState& job = write(id);
    if (job.phase == JobPhase::queued) state_.queue.leave(id, job.shape, job.replicas);
    const Shape& shape = state_.shapes[job.shape.value];
    for (const Placement& placement : job.placements.all()) {
      give_back(state_.nodes.at_for_write(placement.node.value), shape, placement.gpus);
    }
    job.placements = PlacementList{};
    job.phase = phase;
  }

  template <class What>
  void train(const What& what) const {
    schedule::evolve(state_.training, record_.at, record_.reason, what);
  }

  State& state_;
  const Record& record_;
};

}  // namespace

State State::fork() {
  State copy;
  copy.layout = layout;
  copy.nodes = nodes.fork();
  copy.jobs = jobs.fork();
  copy.shapes = shapes.fork();
  copy.queue = queue;
  copy.target = target;
  copy.target_version = target_version;
  copy.learns_target = learns_target;
  copy.estimate = estimate;
  copy.training = training.fork();
  return copy;
}

State initial_state(ClusterLayout layout, TargetWorkload target, bool learns_target) {
  State state;
  for (const NodeState& empty : layout.empty) state.nodes.push_back(empty);
  state.layout = std::make_shared<const ClusterLayout>(std::move(layout));
  state.target = std::make_shared<const TargetWorkload>(std::move(target));
  state.learns_target = learns_target;
  return state;
}

State initial_state_for_training(const Cluster& cluster, SizeRule size_rule) {
  Cluster without_nodes = cluster;
  without_nodes.nodes.clear();
  State state = initial_state(make_layout(without_nodes, {}), TargetWorkload{}, false);
  state.training = initial_training_state(cluster, size_rule);
  return state;
}

void evolve(State& state, const Record& record) {
  std::visit(Evolution{state, record}, record.what);
}

}  // namespace weir::schedule
