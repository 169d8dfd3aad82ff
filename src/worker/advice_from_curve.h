// SPDX-License-Identifier: Apache-2.0
//
// What accumulation_advice.h asks of a kind of GPU, from nothing but how long a step of a job takes
// on 1, 2, 4, ... of them. A step on n GPUs has ceil(G/n) samples for the busiest:
//   T(n) = ceil(G/n) * per_sample + sync(n)
// One GPU does not synchronise, so T(1) gives per_sample, and every other T(n) its sync(n). Where one
// GPU was not measured, or was slow beside the others, per_sample is the least that any size shows,
// and synchronising is what goes beyond that. The steps that were measured come out again exactly.
// Limits: all measured with the same micro-batch, so what a pass costs however small it is cannot be
// told from what its samples cost. It is counted with the samples (per_pass = 0): the advice is about
// numbers of GPUs, and says nothing about smaller or larger micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"
#include "worker/accumulation_advice.h"

namespace weir::worker {

struct MeasuredStep {
  std::int32_t gpus = 1;
  Duration time{};  // of one step, with the whole global batch
};

// With a size for each step, ascending; its name and price are left to the caller. An error lists
// what is wrong: it takes two sizes or more, each once.
[[nodiscard]] Result<MeasuredGpu> gpu_from_curve(std::int64_t global_batch, std::int64_t most_local,
                                                 std::vector<MeasuredStep> steps);

}  // namespace weir::worker
