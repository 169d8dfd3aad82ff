// SPDX-License-Identifier: Apache-2.0
#include "simulate/churn.h"

#include <algorithm>
#include <cassert>
#include <queue>

#include "schedule/core/core.h"
#include "schedule/place/policy_text.h"
#include "simulate/arrival_plan.h"
#include "simulate/fragmentation_meter.h"
#include "simulate/stopwatch.h"

namespace weir::simulate {
namespace {

__extension__ using Wide = __int128;

// Integrates an amount over the measured part of a run.
class TimeAverage {
 public:
  TimeAverage(Time from, Time until) : from_{from}, until_{until}, last_{from} {}

  void set(Time at, std::int64_t amount) {
    const Time capped = std::clamp(at, from_, until_);
    sum_ += static_cast<Wide>(amount_) * (capped - last_).count();
    last_ = capped;
    amount_ = amount;
  }
  double percent_of(std::int64_t whole) {
    set(until_, amount_);
    const std::int64_t span = (until_ - from_).count();
    if (span == 0 || whole == 0) return 0.0;
    return 100.0 * static_cast<double>(sum_) /
           (static_cast<double>(span) * static_cast<double>(whole));
  }

 private:
  Time from_;
  Time until_;
  Time last_;
  std::int64_t amount_ = 0;
  Wide sum_ = 0;
};

struct Finish {
  Time at;
  JobId job;
  // Earliest first; at one instant in order of the ids.
  friend bool operator>(const Finish& a, const Finish& b) {
    return std::tie(a.at, a.job) > std::tie(b.at, b.job);
  }
};

class ChurnRun {
 public:
  ChurnRun(const Cluster& cluster, const Workload& workload, const ChurnConfig& config,
           const schedule::PlacementPolicy& policy)
      : config_{config},
        capacity_{cluster.gpu_capacity()},
        jobs_{workload.jobs},
        plan_{config.load_percent == 0 ? ArrivalPlan::as_recorded(workload)
                                       : ArrivalPlan{workload, capacity_, config.load_percent}},
        oracle_{oracle_target(workload)},
        core_{{&policy, config.seed,
               config.queue == QueueOrder::fifo ? schedule::QueueRule::fifo
                                                : schedule::QueueRule::backfill},
              initial_state_for(cluster, NodeOrder::permuted, config.seed, config.expectation,
                                oracle_)},
        meter_{oracle_, core_.state().nodes},
        allocated_average_{plan_.measure_from(), plan_.measure_until()},
        fragmented_average_{plan_.measure_from(), plan_.measure_until()} {}

  ChurnOutcome run() {
    std::size_t next = 0;
    // At one instant what ends is freed before what arrives is placed.
    while (next < plan_.size() || !finishes_.empty()) {
      const bool frees_first =
          !finishes_.empty() && (next == plan_.size() || finishes_.top().at <= plan_.arrival(next));
      if (frees_first) {
        const Finish finish = finishes_.top();
        finishes_.pop();
        handle(Event{finish.at, JobFinished{finish.job}});
      } else {
        const JobSpec& spec = jobs_[plan_.job(next)].spec;
        handle(Event{plan_.arrival(next), JobSubmitted{spec.shape, spec.replicas}});
        ++next;
      }
    }
    return outcome();
  }

 private:
  // Jobs are submitted in order, so the n-th arrival has the n-th id.
  static std::size_t arrival_of(JobId id) { return id.value - 1; }
  const JobSpec& spec_of(JobId id) const { return jobs_[plan_.job(arrival_of(id))].spec; }

  void handle(const Event& event) {
    PlacementList freed;
    if (const auto* finished = std::get_if<JobFinished>(&event.what)) {
      freed = core_.state().job(finished->job).placements;
      allocated_ -= spec_of(finished->job).gpu_total();
    }
    ++events_;
    const std::vector<Record> records =
        config_.timing ? watch_.time([&] { return core_.handle(event); }) : core_.handle(event);
    for (const Placement& placement : freed.all())
      meter_.update(core_.state().nodes, placement.node);
    for (const Record& record : records) follow(record);
    last_event_ = event.at;
    allocated_average_.set(event.at, allocated_.value);
    fragmented_average_.set(event.at, meter_.micro_gpu());
  }

  void follow(const Record& record) {
    if (const auto* placed = std::get_if<JobPlaced>(&record.what)) {
      const std::size_t arrival = arrival_of(placed->job);
      const Time arrived = plan_.arrival(arrival);
      if (arrived >= plan_.measure_from()) waits_.push_back(record.at - arrived);
      finishes_.push(Finish{record.at + plan_.run_time(arrival), placed->job});
      allocated_ += spec_of(placed->job).gpu_total();
      for (const Placement& placement : placed->placements.all()) {
        meter_.update(core_.state().nodes, placement.node);
      }
    } else if (std::holds_alternative<JobRejected>(record.what)) {
      ++never_fit_;
    }
  }

  // The GPU work of all jobs, of what the GPUs could do until the last would have ended had none waited.
  double recorded_load() const {
    double work = 0;
    double span = 0;
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const double run_time = to_seconds(plan_.run_time(i));
      work += static_cast<double>(jobs_[plan_.job(i)].spec.gpu_total().value) * run_time;
      span = std::max(span, to_seconds(plan_.arrival(i) - Time{}) + run_time);
    }
    return work / (static_cast<double>(capacity_.value) * span);
  }

  ChurnOutcome outcome() {
    ChurnOutcome outcome;
    outcome.policy = config_.policy;
    outcome.queue = config_.queue == QueueOrder::fifo ? "fifo" : "backfill";
    outcome.expectation = config_.expectation == Expectation::oracle ? "oracle" : "learned";
    outcome.load = config_.load_percent == 0 ? recorded_load() : config_.load_percent / 100.0;
    outcome.seed = config_.seed;
    outcome.jobs = static_cast<std::int64_t>(plan_.size());
    outcome.never_fit = never_fit_;
    Wide waited = 0;
    for (const Duration wait : waits_) waited += wait.count();
    if (!waits_.empty())
      outcome.wait_mean_s = static_cast<double>(waited) / 1e9 / static_cast<double>(waits_.size());
    outcome.wait_p99_s = to_seconds(percentile(waits_, 99));
    outcome.allocated_percent = allocated_average_.percent_of(capacity_.value);
    outcome.fragmented_percent = fragmented_average_.percent_of(capacity_.value * 1000);
    outcome.makespan_s = to_seconds(last_event_ - Time{});
    if (config_.timing) outcome.timing = DecisionTiming{watch_.mean_us(events_)};
    return outcome;
  }

  const ChurnConfig& config_;
  MilliGpu capacity_;
  const std::vector<WorkloadJob>& jobs_;
  ArrivalPlan plan_;
  TargetWorkload oracle_;
  schedule::Core core_;
  FragmentationMeter meter_;
  TimeAverage allocated_average_;
  TimeAverage fragmented_average_;
  Stopwatch watch_;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> finishes_;
  std::vector<Duration> waits_;
  MilliGpu allocated_;
  Time last_event_{};
  std::int64_t never_fit_ = 0;
  std::int64_t events_ = 0;
};

}  // namespace

ChurnOutcome run_churn(const Cluster& cluster, const Workload& workload,
                       const ChurnConfig& config) {
  const auto policy = schedule::read_placement_policy(config.policy);
  assert(policy && "check the policy's name before");
  ChurnOutcome outcome = ChurnRun{cluster, workload, config, **policy}.run();
  outcome.workload = workload.name;
  return outcome;
}

}  // namespace weir::simulate
