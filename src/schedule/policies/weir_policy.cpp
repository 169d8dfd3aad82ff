// SPDX-License-Identifier: Apache-2.0
#include "schedule/policies/weir_policy.h"

#include <algorithm>

#include "schedule/admit/gate.h"
#include "schedule/admit/promises.h"
#include "schedule/allocate/left_over.h"

namespace weir::schedule {
namespace {

bool is_possible_alone(const TrainingJob& job, Time now, Time deadline) {
  return std::any_of(job.sizes->begin(), job.sizes->end(), [&](const SizeOption& size) {
    return time_for(job.left, size.rate) <= deadline - now - size.price;
  });
}

}  // namespace

Verdict WeirPolicy::judge(const PoolView& view, const TrainingJob& job) const {
  const Time now = view.now;
  if (!job.has_deadline()) return NoPromise{};
  if (job.sizes->empty()) return Refusal{{ReasonCode::never_fits, 0}, std::nullopt};
  const Time deadline = job.spec->deadline;
  Promises promises{view, job};
  Refusal refusal{{ReasonCode::too_slow_alone, 0}, std::nullopt};
  if (is_possible_alone(job, now, deadline)) {
    auto promise = promises.promise_by(deadline);
    std::optional<std::int64_t> spared;
    if (promise && view.config.has_gate) {
      const std::int64_t cost = least_gpu_seconds(*job.sizes, job.left, deadline - now);
      spared = gate_closes(view.pool, promises.unpromised(), cost, now, deadline, GateRules{});
    }
    if (promise && !spared) return std::move(*promise);
    refusal.reason =
        spared ? Reason{ReasonCode::spares_cheaper_jobs, static_cast<std::uint64_t>(*spared)}
               : Reason{promises.obstacle(), 0};
  }
  if (job.spec->deadline_kind == DeadlineKind::soft) return NoPromise{refusal.reason};
  if (view.config.makes_counter_offers) refusal.earliest = promises.earliest_deadline(deadline);
  return refusal;
}

Allocation WeirPolicy::allocate(const PoolView& view) const {
  Allocation allocation{allocate_with_left_overs(view.state, view.pool, view.now)};
  for (const JobId id : view.pool.active) {
    const TrainingJob& job = view.state.job(id);
    if (!job.is_promised()) continue;
    allocation.wake_up = std::min(allocation.wake_up, job.timeline.next_change(view.now));
  }
  return allocation;
}

}  // namespace weir::schedule
