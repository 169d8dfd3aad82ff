// SPDX-License-Identifier: Apache-2.0
#include "simulate/inflation.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "domain/seeded_rng.h"
#include "schedule/core/core.h"
#include "schedule/place/policy_text.h"
#include "simulate/fragmentation_meter.h"
#include "simulate/power_meter.h"
#include "simulate/stopwatch.h"
#include "simulate/survivors.h"

namespace weir::simulate {
namespace {

constexpr std::int64_t kTunedPercent = InflationOutcome::kLastPercent;

std::vector<std::uint32_t> shuffled_by_name(const Workload& workload, SeededRng rng) {
  std::vector<std::uint32_t> order(workload.jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(workload.jobs[a].spec.name, a) < std::tie(workload.jobs[b].spec.name, b);
  });
  rng.shuffle(order);
  return order;
}

// Half to even, as the published tables round.
int arrived_percent(MilliGpu arrived, MilliGpu capacity) {
  const std::int64_t doubled = 200 * arrived.value;
  std::int64_t percent = (doubled + capacity.value) / (2 * capacity.value);
  const bool is_half = (doubled + capacity.value) % (2 * capacity.value) == 0;
  if (is_half && percent % 2 != 0) --percent;
  return static_cast<int>(percent);
}

// Follows one run: what arrived, what is in use, what is fragmented.
class Tally {
 public:
  Tally(InflationOutcome& outcome, const TargetWorkload& target, const schedule::State& state)
      : outcome_{outcome},
        fragmentation_{target, state.nodes},
        power_{*state.layout, state.nodes} {}

  void count(const schedule::State& state, const JobSpec& spec,
             const std::vector<Record>& records) {
    ++outcome_.tasks;
    arrived_ += spec.gpu_total();
    for (const Record& record : records) {
      if (const auto* placed = std::get_if<JobPlaced>(&record.what)) {
        allocated_ += spec.gpu_total();
        for (const Placement& placement : placed->placements.all()) {
          fragmentation_.update(state.nodes, placement.node);
          power_.update(state.nodes, placement.node);
        }
      } else if (std::holds_alternative<JobRejected>(record.what)) {
        ++outcome_.failed;
        outcome_.failed_cpu_only += spec.shape.is_cpu_only() ? 1 : 0;
      }
    }
    const int percent = arrived_percent(arrived_, outcome_.capacity);
    if (percent > InflationOutcome::kLastPercent) return;
    ArrivalCell& cell = outcome_.arrived[static_cast<std::size_t>(percent)];
    cell.allocated_milli.add(allocated_.value);
    cell.fragmented_micro.add(fragmentation_.micro_gpu());
    cell.watts.add(power_.watts());
  }

 private:
  InflationOutcome& outcome_;
  FragmentationMeter fragmentation_;
  PowerMeter power_;
  MilliGpu arrived_;
  MilliGpu allocated_;
};

}  // namespace

std::int64_t expected_submissions(const Workload& workload, MilliGpu capacity) {
  __extension__ using Wide = __int128;
  const Wide demand = workload.gpu_demand().value;
  if (demand == 0) return static_cast<std::int64_t>(workload.jobs.size());
  const Wide wanted = static_cast<Wide>(capacity.value) * kTunedPercent / 100;
  const Wide submissions = wanted * static_cast<Wide>(workload.jobs.size()) / demand;
  return static_cast<std::int64_t>(std::min<Wide>(submissions, INT64_MAX));
}

std::vector<std::uint32_t> inflate(const Workload& workload, MilliGpu capacity,
                                   std::uint64_t seed) {
  const SeededRng rng{seed};
  std::vector<std::uint32_t> submissions = shuffled_by_name(workload, rng.fork("submissions"));
  const std::int64_t target = capacity.value * kTunedPercent / 100;
  std::int64_t demand = workload.gpu_demand().value;
  SeededRng draws = rng.fork("inflation");
  if (demand == 0) return submissions;
  if (demand > target) {
    Survivors survivors{submissions.size()};
    std::vector<bool> is_deleted(submissions.size());
    while (demand > target) {
      const std::size_t victim = survivors.strike(draws.below(survivors.size()));
      is_deleted[victim] = true;
      demand -= workload.jobs[submissions[victim]].spec.gpu_total().value;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < submissions.size(); ++i) {
      if (!is_deleted[i]) submissions[kept++] = submissions[i];
    }
    submissions.resize(kept);
    return submissions;
  }
  while (true) {
    const auto extra = static_cast<std::uint32_t>(draws.below(workload.jobs.size()));
    const JobSpec& spec = workload.jobs[extra].spec;
    // The published check adds the share of one GPU only, so it may overshoot by up to 7 GPUs.
    if (demand + spec.shape.gpu_share.value > target) break;
    submissions.push_back(extra);
    demand += spec.gpu_total().value;
  }
  return submissions;
}

InflationOutcome run_inflation(const Cluster& cluster, const Workload& workload,
                               const InflationConfig& config) {
  const auto policy = schedule::read_placement_policy(config.policy);
  assert(policy && "check the policy's name before");

  InflationOutcome outcome;
  outcome.policy = config.policy;
  outcome.workload = workload.name;
  outcome.seed = config.seed;
  outcome.capacity = cluster.gpu_capacity();

  const TargetWorkload oracle = oracle_target(workload);
  schedule::Core core{
      {policy->get(), config.seed, schedule::QueueRule::drop},
      initial_state_for(cluster, config.node_order, config.seed, config.expectation, oracle)};
  Tally tally{outcome, oracle, core.state()};
  Stopwatch watch;
  for (const std::uint32_t submission : inflate(workload, outcome.capacity, config.seed)) {
    const JobSpec& spec = workload.jobs[submission].spec;
    const Event event{Time{}, JobSubmitted{spec.shape, spec.replicas}};
    const std::vector<Record> records =
        config.timing ? watch.time([&] { return core.handle(event); }) : core.handle(event);
    tally.count(core.state(), spec, records);
  }
  if (config.timing) outcome.timing = DecisionTiming{watch.mean_us(outcome.tasks)};
  return outcome;
}

}  // namespace weir::simulate
