// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/tiresias.h"

#include <algorithm>
#include <array>

namespace weir::schedule {
namespace {

// GPU-milliseconds after which a job leaves the first queue, and the second.
constexpr std::array<std::int64_t, 2> kLimits = {3'250'000, 7'200'000};
constexpr std::size_t kQueues = kLimits.size() + 1;

std::size_t queue_of(const TrainingJob& job, Time now) {
  const std::int64_t had = job.gpu_milliseconds_at(now);
  std::size_t queue = 0;
  while (queue < kLimits.size() && had >= kLimits[queue]) ++queue;
  return queue;
}

// Requires: the job runs, and is in that queue, which is not the last.
Time demoted_at(const TrainingJob& job, std::size_t queue) {
  const std::int64_t gpus = job.block.size;
  const std::int64_t to_go = kLimits[queue] - job.served.gpu_milliseconds;
  return job.served.since + std::chrono::milliseconds{(to_go + gpus - 1) / gpus};
}

using Queues = std::array<std::vector<JobId>, kQueues>;

Queues by_queue(const PoolView& view, const std::vector<JobId>& jobs) {
  Queues queues;
  for (const JobId id : jobs) queues[queue_of(view.state.job(id), view.now)].push_back(id);
  return queues;
}

// A demoted job matters to those who wait in its present queue or before it: they overtake it.
Time next_demotion(const PoolView& view, const Queues& running, const Queues& waiting) {
  Time next = Time::max();
  bool somebody_overtakes = false;
  for (std::size_t queue = 0; queue < kLimits.size(); ++queue) {
    somebody_overtakes = somebody_overtakes || !waiting[queue].empty();
    if (!somebody_overtakes) continue;
    for (const JobId id : running[queue])
      next = std::min(next, demoted_at(view.state.job(id), queue));
  }
  return next;
}

}  // namespace

Allocation TiresiasPolicy::allocate(const PoolView& view) const {
  const Line line = line_of(view);
  if (!line.somebody_waits()) return {keep_running(view, line)};
  const Queues running = by_queue(view, line.running);
  const Queues waiting = by_queue(view, line.waiting);
  std::vector<JobId> order;
  order.reserve(view.pool.active.size());
  for (std::size_t queue = 0; queue < kQueues; ++queue) {
    order.insert(order.end(), running[queue].begin(), running[queue].end());
    order.insert(order.end(), waiting[queue].begin(), waiting[queue].end());
  }
  return {serve_in_order(view, order), next_demotion(view, running, waiting)};
}

}  // namespace weir::schedule
