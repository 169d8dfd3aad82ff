// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/fifo.h"

namespace weir::schedule {

Verdict FifoPolicy::judge(const PoolView&, const TrainingJob& job) const {
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  return NoPromise{};
}

Allocation FifoPolicy::allocate(const PoolView& view) const {
  const TrainingState& state = view.state;
  const PoolState& pool = view.pool;
  BlockMap map = pool.closed;
  for (const JobId id : pool.active) {
    if (!state.job(id).block.is_none()) map.cover(state.job(id).block);
  }
  Allocation allocation;
  bool is_blocked = false;
  std::uint64_t place = 0;
  for (const JobId id : pool.active) {  // ids ascend as jobs come
    const TrainingJob& job = state.job(id);
    ++place;
    if (!job.block.is_none()) {
      allocation.blocks.push_back({id, job.block, {ReasonCode::policy_order, place}});
      continue;
    }
    if (is_blocked) continue;
    const auto block = map.best_fit(static_cast<std::uint32_t>(job.sizes->front().gpus));
    if (!block) {
      is_blocked = true;
      continue;
    }
    map.take(*block);
    allocation.blocks.push_back({id, *block, {ReasonCode::policy_order, place}});
  }
  return allocation;
}

}  // namespace weir::schedule
