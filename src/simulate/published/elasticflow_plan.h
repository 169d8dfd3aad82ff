// SPDX-License-Identifier: Apache-2.0
//
// The plan of one job under the published ElasticFlow: as few GPUs as its deadline needs, on what
// jobs with earlier deadlines leave free; whole slots, no overhead in the plan.
#pragma once

#include <optional>

#include "simulate/published/free_gpus.h"
#include "simulate/published/published_job.h"

namespace weir::simulate::published {

struct ElasticPlan {
  Steps gpus;            // of the job
  Seconds end = 0;       // on a slot: when its GPUs are free
  Seconds real_end = 0;  // what its deadline is compared with
  Steps free_after;      // of the cluster, with the plan taken

  // GPU-seconds. A step lasts until the next one, also past the end, as published.
  std::int64_t gpu_time() const;
};

std::int64_t gpu_time(const Steps& gpus, Seconds end);

struct PlanInput {
  const PublishedJob* job = nullptr;
  Seconds now = 0;
  Seconds slot = 60;
  std::int32_t cluster_gpus = 0;
  // So many in the first piece, whatever is needed; the rest is planned as usual.
  std::optional<std::int32_t> gpus_now{};
};

// Requires: `free` has a step at `now`.
ElasticPlan plan_elastically(const PlanInput& input, const Steps& free);

}  // namespace weir::simulate::published
