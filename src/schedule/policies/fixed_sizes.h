// SPDX-License-Identifier: Apache-2.0
//
// What policies share that run every job on the GPUs its user asked for: who waits, and how GPUs are
// given in a policy's order.
//
// Whoever fits in what those before it left is served; the next in line does not hold back those
// behind it. Jobs may be moved to make room for a block, at their own price, as under every policy.
// A job that loses its work when it is stopped is neither stopped nor moved.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/policies/training_policy.h"

namespace weir::schedule {

// Accepts every job that has a size, and promises nothing.
class FixedSizePolicy : public TrainingPolicy {
 public:
  bool makes_promises() const final { return false; }
  SizeRule size_rule() const final { return SizeRule::asked; }
  Verdict judge(const PoolView& view, const TrainingJob& job) const final;
};

// Requires: the job has a size.
inline const SizeOption& asked_size(const TrainingJob& job) {
  return job.sizes->front();
}
inline std::uint32_t asked_gpus(const TrainingJob& job) {
  return static_cast<std::uint32_t>(asked_size(job).gpus);
}

// How long the job would still take if it ran from now on, with the price of a start where it has
// none of its GPUs. One that is starting has paid already: were the rest of its start counted, a job
// that is moved would become longer by that and could be stopped for one that waits.
Duration time_to_finish(const TrainingJob& job, Time now);

// The active jobs, by arrival.
struct Line {
  std::vector<JobId> running;
  std::vector<JobId> waiting;
  std::uint32_t free = 0;          // GPUs that nobody has
  std::uint32_t least_wanted = 0;  // by anybody who waits; 0 when nobody does

  bool somebody_waits() const { return !waiting.empty(); }
  bool somebody_waiting_fits() const { return somebody_waits() && least_wanted <= free; }
};
Line line_of(const PoolView& view);

// GPUs for the jobs in that order; each job at most once. Jobs that are not listed get none.
std::vector<WantedBlock> serve_in_order(const PoolView& view, std::span<const JobId> order);

// Everybody who runs goes on where it is.
std::vector<WantedBlock> keep_running(const PoolView& view, const Line& line);

}  // namespace weir::schedule
