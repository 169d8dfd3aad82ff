// SPDX-License-Identifier: Apache-2.0
//
// What follows from an event that concerns training jobs, as records. Nothing here changes the
// state.
#pragma once

#include <vector>

#include "domain/event.h"
#include "domain/record.h"
#include "schedule/core/training_index.h"
#include "schedule/core/training_state.h"
#include "schedule/policies/training_policy.h"

namespace weir::schedule {

class TrainingDecision {
 public:
  // `next_job` is the id a new job gets.
  TrainingDecision(const TrainingState& state, const TrainingIndex& index,
                   const TrainingPolicy& policy, const TrainingConfig& config, Time now,
                   JobId next_job)
      : state_{state},
        index_{index},
        policy_{policy},
        config_{config},
        now_{now},
        next_job_{next_job} {}

  void operator()(const TrainingSubmitted& event);
  void operator()(const JobFinished& event);
  void operator()(const JobCancelled& event);
  void operator()(const RanksReady& event);
  void operator()(const ProgressReported& event);
  void operator()(const CurveUpdated& event);
  void operator()(const TimerFired& event);
  void operator()(const NodeLost& event);
  void operator()(const NodeReturned& event);
  void operator()(const NodeDrained& event);
  void operator()(const ForeignUseObserved& event);
  void operator()(const RanksFailed& event);
  void operator()(const JobFailed& event);
  void operator()(const RescaleCostMeasured& event);
  void operator()(const ClockStepped& event);
  void operator()(const TenantsChanged& event);
  void operator()(const SupplyUpdated& event);
  void operator()(const EnergyConfigured& event);
  void operator()(const PowerTableUpdated& event);
  void operator()(const NetworkConfigured& event);

  // What follows once the records of the event are part of the state.
  void follow_up(const Event& event);

  // The promised jobs that a new curve is about, each to be mended on a state that has the others'
  // new plans.
  std::vector<JobId> promised_with(const CurveUpdated& event) const;
  void mend_with_new_curve(JobId id);

  // The promised jobs that should be done and have not said so, or should have been done by the time
  // that was announced; each to be mended like those above, before GPUs are handed out.
  std::vector<JobId> overdue() const;
  void mend_overdue(JobId id);

  std::vector<Record> take_records() { return std::move(records_); }
  // When the policies want to decide again; known after a TimerFired.
  Time wake_up() const { return wake_up_; }

 private:
  TrainingJob candidate(const PoolState& pool, std::shared_ptr<const TrainingSpec> spec) const;
  void record_verdict(JobId job, Verdict verdict);
  bool is_active(JobId job);
  bool waits_for_curve(JobId job) const;
  void leave_useless_sizes(const CurveUpdated& event);
  void judge_waiting(const CurveUpdated& event);
  void mend_pool_of(NodeId node);
  void mend(JobId id);
  void record_mended(std::vector<Mended> mended);
  void set_clocks(const std::vector<WantedBlock>& wanted);
  // Where the pool's network is known: changes what is wanted so that each job can have its links, and
  // tells which. Empty where it is not known.
  std::vector<Record> give_links(const PoolState& pool, std::vector<WantedBlock>& wanted);
  std::size_t position_of(PoolIndex pool) const;
  PoolView view(std::size_t pool) const;

  template <class What>
  void add(What what, Reason reason) {
    records_.push_back(Record{now_, reason, std::move(what)});
  }

  const TrainingState& state_;
  const TrainingIndex& index_;
  const TrainingPolicy& policy_;
  const TrainingConfig& config_;
  Time now_;
  JobId next_job_;
  std::vector<Record> records_;
  Time wake_up_ = Time::max();
};

}  // namespace weir::schedule
