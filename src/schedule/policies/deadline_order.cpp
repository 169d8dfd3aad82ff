// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/deadline_order.h"

#include <algorithm>

#include "schedule/admit/promises.h"
#include "schedule/place/rearrange.h"

namespace weir::schedule {

Time deadline_of(const TrainingJob& job) {
  return job.has_deadline() ? job.spec->deadline : Time::max();
}

JobToFill to_fill(const TrainingJob& job, Time now) {
  return to_fill(job, now, deadline_of(job));
}

std::vector<JobId> by_deadline(const TrainingState& state, const PoolState& pool) {
  std::vector<JobId> order = pool.active;
  std::stable_sort(order.begin(), order.end(), [&](JobId a, JobId b) {
    return deadline_of(state.job(a)) < deadline_of(state.job(b));
  });
  return order;
}

std::vector<WantedBlock> place_in_order(const TrainingState& state, const PoolState& pool,
                                        const std::vector<JobId>& order,
                                        const std::vector<std::uint32_t>& gpus) {
  std::vector<SizeWish> wishes;
  wishes.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    wishes.push_back({state.job(order[i]).block, gpus[i]});
  const std::vector<GpuBlock> blocks = rearrange(wishes, pool.closed);
  std::vector<WantedBlock> wanted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!blocks[i].is_none())
      wanted.push_back({order[i], blocks[i], {ReasonCode::policy_order, i + 1}});
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const WantedBlock& a, const WantedBlock& b) { return a.job < b.job; });
  return wanted;
}

}  // namespace weir::schedule
