// SPDX-License-Identifier: Apache-2.0
#include "schedule/foresee/supposition.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

namespace weir::schedule {
namespace {

bool is_open(const TrainingJob& job) {
  return job.phase == TrainingPhase::promised || job.phase == TrainingPhase::unpromised ||
         job.phase == TrainingPhase::waits_for_curve || job.phase == TrainingPhase::considered;
}

// What is left of a job, as a job of its own.
TrainingSpec rest_of(const TrainingJob& job, Time now) {
  TrainingSpec spec = *job.spec;
  if (!spec.in_one_piece) {
    const WideInteger left =
        job.left_at(now).femto_iterations * 1000 / std::max(1, job.speed_permille);
    spec.iterations = std::max<std::int64_t>(
        1, static_cast<std::int64_t>((left + kFemtoPerIteration - 1) / kFemtoPerIteration));
  }
  if (spec.deadline_kind == DeadlineKind::none) return spec;
  if (spec.deadline <= now) spec.deadline_kind = DeadlineKind::none;  // nothing left to promise
  if (spec.margin >= spec.deadline - now) spec.margin = Duration{0};
  return spec;
}

// The same pools and curves, and no jobs.
State without_jobs(State state, SizeRule rule) {
  State made;
  made.layout = state.layout;
  made.nodes = std::move(state.nodes);
  made.target = state.target;
  made.training.rescale_cost = state.training.rescale_cost;
  made.training.size_rule = rule;
  made.training.pools = std::move(state.training.pools);
  for (PoolState& pool : made.training.pools) {
    pool.active.clear();
    pool.arrivals.clear();
    pool.arrivals_seen = 0;
  }
  return made;
}

struct OpenJob {
  JobId job;
  TrainingSpec rest;
};

std::vector<OpenJob> open_jobs(const State& state, Time now) {
  std::vector<OpenJob> jobs;
  for (std::size_t i = 0; i < state.training.jobs.size(); ++i) {
    const TrainingJob& job = state.training.jobs[i];
    if (is_open(job)) jobs.push_back({JobId{i + 1}, rest_of(job, now)});
  }
  return jobs;
}

class Supposing {
 public:
  Supposing(SupposedCore& made, Time now) : made_{made}, now_{now} {}

  template <class What>
  void tell(What what) {
    auto records = made_.core.handle(Event{now_, std::move(what)});
    std::move(records.begin(), records.end(), std::back_inserter(made_.records));
  }

  std::optional<JobId> submit(const TrainingSpec& spec) {
    const JobId next = made_.core.state().next_job();
    tell(TrainingSubmitted{spec});
    return made_.core.state().knows(next) ? std::optional{next} : std::nullopt;
  }

 private:
  SupposedCore& made_;
  Time now_;
};

}  // namespace

NodeId first_new_node(const TrainingState& state) {
  NodeId last;
  for (const PoolState& pool : state.pools) {
    for (const NodeId node : pool.pool->nodes) last = std::max(last, node);
  }
  // Nodes without GPUs are in no pool of ours: well above them, too.
  constexpr std::uint64_t kFarAbove = std::uint64_t{1} << 32;
  return NodeId{last.value + kFarAbove};
}

SupposedCore suppose(State state, const CoreConfig& config, Time now, const Supposition& what) {
  CoreConfig used = config;
  std::vector<OpenJob> to_hand_over;
  if (what.policy != nullptr) {
    used.training_policy = what.policy;
    to_hand_over = open_jobs(state, now);
    state = without_jobs(std::move(state), what.policy->size_rule());
  }
  std::vector<NodeId> joined;
  for (const MoreNodes& more : what.more_nodes) {
    for (std::int32_t i = 0; i < more.nodes; ++i) {
      joined.push_back(first_new_node(state.training));
      add_closed_node(state.training, more.pool, joined.back(), more.gpus_each);
    }
  }
  SupposedCore made{used, Core{used, std::move(state)}, {}, {}, {}};
  Supposing supposing{made, now};
  for (const NodeId node : joined) supposing.tell(NodeReturned{node});
  for (const NodeId node : what.lost) supposing.tell(NodeLost{node});
  const auto is_cancelled = [&](JobId job) {
    return std::find(what.cancelled.begin(), what.cancelled.end(), job) != what.cancelled.end();
  };
  for (const OpenJob& job : to_hand_over) {
    if (is_cancelled(job.job)) continue;
    if (const auto id = supposing.submit(job.rest)) made.original[*id] = job.job;
  }
  if (what.policy == nullptr) {
    for (const JobId job : what.cancelled) supposing.tell(JobCancelled{job});
  }
  for (const SupposedJob& job : what.submitted) {
    for (const CurveUpdated& curve : job.curves) supposing.tell(curve);
    made.submitted.push_back(supposing.submit(job.spec));
  }
  return made;
}

}  // namespace weir::schedule
