// SPDX-License-Identifier: Apache-2.0
//
// For tests: plans of batches that can be made.
#pragma once

#include <cstdint>

#include "worker/batch_plan.h"

namespace weir::worker {

inline BatchPlan plan(std::int64_t batch, std::int64_t size, std::int64_t rank,
                      std::int64_t most = 0) {
  return BatchPlan::make(batch, {size, rank}, most).value();
}

}  // namespace weir::worker
