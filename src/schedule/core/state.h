// SPDX-License-Identifier: Apache-2.0
//
// Everything the scheduler knows, as a value. Only evolve() changes it. A fork is cheap (it shares
// pages) and may be used on another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "domain/ids.h"
#include "domain/placement.h"
#include "domain/record.h"
#include "domain/target_workload.h"
#include "schedule/core/cluster_layout.h"
#include "schedule/core/training_state.h"
#include "schedule/core/waiting_line.h"
#include "schedule/core/workload_estimate.h"
#include "schedule/paged_table.h"
#include "schedule/place/node_view.h"

namespace weir::schedule {

enum class JobPhase : std::uint8_t {
  accepted,
  queued,
  running,
  interrupted,
  finished,
  rejected,
  training,  // a training job: see State::training
};

struct JobState {
  PlacementList placements;  // of a running job
  ShapeIndex shape;
  std::int32_t replicas = 1;
  JobPhase phase = JobPhase::accepted;
  friend bool operator==(const JobState&, const JobState&) = default;
};

struct State {
  std::shared_ptr<const ClusterLayout> layout;
  NodeTable nodes;            // by NodeIndex
  PagedTable<JobState> jobs;  // by position_of(JobId)
  PagedTable<Shape> shapes;   // by ShapeIndex; every shape ever submitted
  WaitingLine queue;
  std::shared_ptr<const TargetWorkload> target;
  std::uint32_t target_version = 0;
  bool learns_target = false;
  WorkloadEstimate estimate;  // grows only while learns_target
  TrainingState training;     // empty in a core without training pools

  static std::size_t position_of(JobId job) { return job.value - 1; }
  JobId next_job() const { return JobId{jobs.size() + 1}; }
  bool knows(JobId job) const { return job.value >= 1 && job.value <= jobs.size(); }
  const JobState& job(JobId id) const { return jobs[position_of(id)]; }

  State fork();
};

State initial_state(ClusterLayout layout, TargetWorkload target, bool learns_target);
// Every pool with GPUs is for training jobs.
State initial_state_for_training(const Cluster& cluster, SizeRule size_rule = SizeRule::useful);

// Brings the state to where it is after the record. No policy; cannot fail.
// Requires: the record was decided on this very state.
void evolve(State& state, const Record& record);

}  // namespace weir::schedule
