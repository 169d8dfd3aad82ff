// SPDX-License-Identifier: Apache-2.0
//
// Free GPUs that a job as usual could not use, because no free block of its size has them.
//
// For each size that jobs asked for of late: how many free GPUs are in no free block of that size. Of
// these the mean, weighted by how often each size was asked for. The size that a job asks for is its
// `gpus`, up to the next power of two; to a training job that may change its size that is a hint, 1
// when it has none.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "schedule/core/training_state.h"

namespace weir::control {

// Of the latest jobs.
class AskedSizes {
 public:
  static constexpr std::size_t kJobs = 200;

  // Requires: at least one GPU.
  void add(std::int32_t gpus, std::uint32_t largest_block);
  // How often each size was asked for.
  const std::map<std::uint32_t, std::int64_t>& counts() const { return counts_; }

 private:
  std::deque<std::uint32_t> latest_;
  std::map<std::uint32_t, std::int64_t> counts_;
};

// 0 when nobody asked for anything.
double fragmented_gpus(const schedule::TrainingState& state, const AskedSizes& asked);

}  // namespace weir::control
